"""Every command of the README and the docs is executed, made small where it is long, and what it gives is looked at.

The rules stand in tests/commands/rules.py; a command that none of them knows fails here by page and line.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.commands import documented
from tests.commands.corpora import write_corpora
from tests.commands.documented import ROOT, Command
from tests.commands.rules import RULES, WITHOUT_GPU, rule_of
from tests.commands.training import quick_settings
from tests.commands.workplace import Workplace, small

COMMANDS = [command for page in documented.pages() for command in documented.commands(page)]
OF_THE_PAGE = re.compile(r"mine\.yaml")
"""Commands that mean something else on each page."""


def different() -> Iterator[Any]:
    """Commands that differ in text or, where the page matters, in page; named by the first place of each."""
    places: dict[Any, list[Command]] = {}
    for command in COMMANDS:
        rule = rule_of(command)
        page = command.place.rpartition(":")[0] if OF_THE_PAGE.search(command.text) else ""
        key = rule if rule is not None and rule.together else (page, command.text)
        places.setdefault(key, []).append(command)
    for commands in places.values():
        rule = rule_of(commands[0])
        text = commands[0].text.splitlines()[0]
        gpu = "needs a GPU: " if rule is WITHOUT_GPU else ""
        marks = [pytest.mark.slow] if rule is not None and rule.slow else []
        yield pytest.param(commands, id=f"{commands[0].place} {gpu}{text}", marks=marks)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what all workers use: made-up text in `corpora`, and studies trained once in `trained`."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "commands"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "lock"):
        if not (folder / "corpora").exists():
            write_corpora(folder / "corpora")
            place = Workplace(folder / "quick", folder / "trained", folder / "corpora")
            ran = place.ablations("run", "quick", *quick_settings(place)).good()
            (place.runs / "quick/ran.txt").write_text(ran.out, encoding="utf-8")
            place.runs.rename(folder / "trained")
    return folder


@pytest.fixture
def place(shared: Path, tmp_path: Path) -> Workplace:
    """A folder to type commands in."""
    return Workplace(tmp_path / "checkout", shared / "trained", shared / "corpora")


@pytest.mark.parametrize("commands", list(different()))
def test_a_command_does_what_the_page_says(commands: list[Command], place: Workplace) -> None:
    command = commands[0]
    rule = rule_of(command)
    where = ", ".join(each.place for each in commands)
    assert rule is not None, f"{where}: {command.text!r} fits no rule of tests/commands/rules.py: nothing runs it"
    try:
        rule.check(place, command)
    except BaseException as error:
        error.add_note("\n".join(f"{each.place}: {each.text}" for each in commands))
        raise


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.pattern)
def test_a_rule_has_a_command(rule: Any) -> None:
    assert any(rule_of(command) is rule for command in COMMANDS), "no page has such a command any more: drop the rule"


def test_only_what_names_a_gpu_is_left_to_one() -> None:
    left = [command.text for command in COMMANDS if rule_of(command) is WITHOUT_GPU]
    assert left
    assert all(re.search("cuda|GPU", text) for text in left)
    assert all(re.match(r"(CUDA_VISIBLE_DEVICES=\S+ )?ablations (run|plan) ", text) for text in left)


def test_every_page_is_read() -> None:
    assert {command.place.split(":")[0] for command in COMMANDS} >= {"README.md", "CONTRIBUTING.md", "docs/slurm.md"}
    assert len(COMMANDS) > 150


SNIPPETS = [
    block
    for page in documented.pages()
    for block in documented.blocks(page)
    if block.language in ("python", "yaml", "yml")
]


@pytest.mark.parametrize("block", SNIPPETS, ids=lambda block: f"{block.place} {block.language}")
def test_a_snippet_works(block: documented.Block, place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.commands import snippets

    monkeypatch.chdir(place.folder)
    place.quick()
    text = small(block.text)
    if block.language == "python":
        snippets.python(text, place, monkeypatch)
    else:
        snippets.yaml(text, place)


def test_shell_blocks_are_commands_and_others_are_known() -> None:
    known = {*documented.SHELLS, "python", "yaml", "yml", "text", "math", ""}
    found = {block.language for page in documented.pages() for block in documented.blocks(page)}
    assert found <= known


def test_the_root_is_the_checkout() -> None:
    assert (ROOT / "pyproject.toml").is_file()
