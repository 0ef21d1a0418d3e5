"""A local model says what is wrong with it, with the mend, and loads nothing before it must."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from remit import Agent, Budget, Card, Catalogue, Pricing
from remit.models.local import LocalModel
from remit.models.local.model import check_file
from remit.values.errors import ConfigError


def gguf(folder: Path) -> Path:
    path = folder / "tiny.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00")
    return path


def test_a_name_of_the_catalogue_is_a_file_under_its_card(tmp_path: Path) -> None:
    path = gguf(tmp_path)
    card = Card(pricing=Pricing(input=1, output=2), window=2_000)

    found = Catalogue({f"local:{path}": card}).model(f"local:{path}")

    assert isinstance(found, LocalModel)
    assert (found.file, found.name, found.card) == (path, "local:tiny", card)


def test_without_a_card_it_costs_nothing_and_has_a_window(tmp_path: Path) -> None:
    card = LocalModel(path=gguf(tmp_path)).card

    assert card.pricing == Pricing(input=0, output=0)
    assert card.window == 8_192


def test_a_home_folder_may_be_written_short() -> None:
    assert LocalModel(path="~/m.gguf").file == Path.home() / "m.gguf"


def test_an_agent_is_made_where_the_file_is_not() -> None:
    Agent(name="desk", model=LocalModel(path="/nowhere/m.gguf"), budget=Budget(turns=1))


async def test_a_file_that_is_not_there_is_told_by_its_path() -> None:
    with pytest.raises(ConfigError, match=r"/nowhere/m\.gguf cannot be read \(No such file"):
        await LocalModel(path="/nowhere/m.gguf").prepare()


@pytest.mark.parametrize(
    ("begins", "told"),
    [
        (b"", "no GGUF file"),
        (b"\x80\x02pickle", "no GGUF file"),
        (b"version https://git-lfs.github.com/spec/v1\noid x", "git lfs pull"),
    ],
)
def test_a_file_that_is_no_model_is_told_with_the_mend(
    tmp_path: Path, begins: bytes, told: str
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(begins)

    with pytest.raises(ConfigError, match=told):
        check_file(path)


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        check_file(tmp_path)


async def test_without_the_package_the_mend_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    with pytest.raises(ConfigError, match=r"pip install '\.\[local\]'"):
        await LocalModel(path=gguf(tmp_path)).prepare()


async def test_what_llama_cpp_is_given_can_be_changed_and_no_one_else_may_ask_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    class Params:
        def __init__(self) -> None:
            self.model, self.cpuparams, self.cpuparams_batch = Bag(), Bag(), Bag()

    class Bag:
        pass

    llama: Any = type(sys)("xllamacpp")
    llama.CommonParams, llama.Server = Params, seen.append
    monkeypatch.setitem(sys.modules, "xllamacpp", llama)
    assert importlib.import_module("xllamacpp") is llama

    def configure(given: Any) -> None:
        given.n_gpu_layers = 3

    made = LocalModel(
        path=gguf(tmp_path), threads=2, parallel=3, card=Card(window=500), configure=configure
    )
    await made.prepare()

    (given,) = seen
    assert given.n_gpu_layers == 3
    assert (given.n_ctx, given.n_parallel, given.cpuparams.n_threads) == (1_500, 3, 2)
    assert len(given.api_keys[0]) > 20
    made.close()


@pytest.mark.parametrize(
    "options",
    [
        {"path": ""},
        {"path": "a\0b"},
        {"path": 5},
        {"threads": 0},
        {"parallel": 0},
        {"parallel": True},
        {"timeout": 0},
        {"options": {"messages": []}},
    ],
)
def test_options_that_are_none_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="LocalModel"):
        LocalModel(**{"path": "m.gguf"} | options)
