"""What the README's example is given: a model that follows a script."""

from remit.testing import Call, Say, ScriptedModel

model = ScriptedModel(
    [
        Call("find_order", number="A-1042"),
        Say("It was shipped on Monday."),
        Call("refund", order="A-1042", amount="150"),
        Say("150 euros are on their way back."),
    ]
)
