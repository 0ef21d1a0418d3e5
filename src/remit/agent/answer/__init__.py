"""What a model's answer must be: no call syntax, and of the type that the agent promises."""
