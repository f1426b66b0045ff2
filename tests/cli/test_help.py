"""Every command says what it does and shows how; the reference is what --help says."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dotq.cli import main
from dotq.cli._reference import reference, walk
from dotq.cli._root import _SECTIONS

TREE = [(context.command_path, command) for command, context in walk(main, "dotq")]
DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.parametrize(("path", "command"), TREE, ids=[path for path, _ in TREE])
def test_help(path: str, command: click.Command) -> None:
    result = CliRunner().invoke(main, [*path.split()[1:], "--help"], prog_name="dotq")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: {path} ")
    examples = result.stdout.partition("Example:")[2]
    first = f"dotq {path.split()[1]}" if " " in path else "dotq"
    assert first in examples
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert option.help, option.name


def test_examples_are_commands_that_exist() -> None:
    for path, command in TREE:
        for line in (command.epilog or "").splitlines():
            for word in line.split("dotq ")[1:]:
                name = word.split()[0]
                assert name.startswith("-") or name in main.commands or "`" in line, (path, line)


def test_the_help_of_dotq_lists_every_command_once() -> None:
    listed = [command.name for commands in _SECTIONS.values() for command in commands]
    assert sorted(map(str, listed)) == sorted(main.commands)
    shown = CliRunner().invoke(main, ["--help"], prog_name="dotq").stdout
    assert all(f"\n  {name} " in shown for name in main.commands)


def test_the_reference_is_current() -> None:
    assert DOCS.read_text(encoding="utf-8") == reference(), (
        "docs/cli.md is out of date: python -m dotq.cli._reference --output docs/cli.md"
    )


def test_every_option_has_a_name_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for command, context in walk(main, "dotq"):
        for option in command.params:
            if not isinstance(option, click.Option) or option.hidden or option.name in ("help", "version"):
                continue
            long = max(option.opts, key=len).lstrip("-")
            name = f"{context.command_path} {long}".upper().replace("-", "_").replace(" ", "_")
            with monkeypatch.context() as patched:
                patched.setenv(name, "1")
                assert option.resolve_envvar_value(context) == "1", name


def test_an_unknown_command_or_option_is_a_mistake_of_the_caller() -> None:
    for words in (["nothing"], ["job", "nothing"], ["job", "list", "--nothing"], ["enqueue"]):
        assert CliRunner().invoke(main, words).exit_code == 2
