"""Help: every option of every command is in it, with a word on what it does."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from tidepool.cli.main import tidepool
from tidepool.errors import TidepoolError

OURS = ("simulate", "curve", "compare", "ssd", "policies")


@pytest.mark.parametrize("name", OURS)
def test_help_names_every_option(name: str) -> None:
    result = CliRunner().invoke(tidepool, [name, "--help"], terminal_width=100)
    assert result.exit_code == 0
    command = tidepool.commands[name]
    for param in command.params:
        if isinstance(param, click.Option):
            assert param.help
            for flag in param.opts:
                assert flag in result.output
        else:
            assert (param.metavar or str(param.name).upper()) in result.output
    assert "Traceback" not in result.output


def test_group_help_lists_the_commands() -> None:
    output = CliRunner().invoke(tidepool, ["--help"]).output
    for name in OURS:
        assert f"\n  {name} " in output


@pytest.mark.parametrize(
    ("name", "disk", "ssd"), [("simulate", "hdd", "sata-ssd"), ("advise", "sata-ssd", "nvme")]
)
def test_devices_have_different_defaults_for_reasons(name: str, disk: str, ssd: str) -> None:
    """Tiers are studied below slow disks; a server's advice must not exaggerate."""
    text = {param.name: param.help for param in tidepool.commands[name].params}  # type: ignore[attr-defined]
    for option, device in (("device", disk), ("ssd_device", ssd)):
        _, default = text[option].split("[default: ")
        assert device in default and ("since" in default or ", " in default)
    other = "advise" if name == "simulate" else "simulate"
    assert other in text["device"]


def test_every_number_is_written_by_the_same_rules() -> None:
    """click's own numbers know no 1e6, 5% and 64MB."""

    def check(command: click.Command) -> int:
        if isinstance(command, click.Group):
            context = click.Context(command)
            names = command.list_commands(context)
            return sum(check(command.get_command(context, name)) for name in names)  # type: ignore[arg-type]
        for param in command.params:
            kind = (command.name, param.name, param.type)
            assert not isinstance(param.type, click.types.IntParamType), kind
            assert not isinstance(param.type, click.types.FloatParamType), kind
        return 1

    assert check(tidepool) > 20


@pytest.mark.parametrize("name", ["simulate", "curve", "compare", "ssd"])
def test_examples_in_help_parse(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import shlex

    text = tidepool.commands[name].help or ""
    lines = [line.strip() for line in text.replace("\\\n", " ").splitlines()]
    examples = [line for line in lines if line.startswith(f"tidepool {name} ")]
    assert examples
    for example in examples:
        for unknown in ("lirs", "lru_k"):
            example = example.replace(unknown, "arc")
        tidepool.commands[name].make_context(name, shlex.split(example)[2:])


def test_completion_of_policies() -> None:
    from tidepool.cli.options import POLICIES, POLICY

    found = [item.value for item in POLICIES.shell_complete(None, None, "a")]
    assert found == ["arc", "all"] or {"arc", "all"} <= set(found)
    assert "all" not in [item.value for item in POLICY.shell_complete(None, None, "")]


def test_completion_in_a_list() -> None:
    from tidepool.cli.options import POLICIES

    found = [item.value for item in POLICIES.shell_complete(None, None, "lru,ar")]
    assert found == ["lru,arc"]


def test_memory_is_given_to_postgresql_in_its_units() -> None:
    from tidepool.cli.server import parse_shared_buffers

    found = [parse_shared_buffers(text) for text in ("64M", "64MB", "1e3")]
    assert found == ["65536kB"] * 2 + ["8000kB"]
    for wrong in ("5%", "10xx"):
        with pytest.raises(TidepoolError) as error:
            parse_shared_buffers(wrong)
        assert error.value.hint == "Use buffers (16384) or bytes (128MB)."
