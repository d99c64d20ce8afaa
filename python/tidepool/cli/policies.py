"""``tidepool policies``: the algorithms, their sources, parameters and costs."""

from __future__ import annotations

from typing import Any

import click

from tidepool.cli.options import format_option
from tidepool.cli.printing import CsvPrinter, print_json, print_table
from tidepool.policies import OPT, Param, Policy, find_policy, policies
from tidepool.simulation.sizes import PAGE_BYTES


@click.command("policies")
@click.argument("name", required=False)
@format_option
def policies_command(name: str | None, output: str) -> None:
    """List the replacement policies, or describe the one called NAME.

    A policy is used as NAME or NAME:parameter=value,….  Its cost is the
    memory it needs for each frame, in the simulator as in the server: the
    frame's own node, and what is kept of pages that were evicted (ghosts).
    """
    chosen = (find_policy(name),) if name else (*policies(), OPT)
    if output == "json":
        for policy in chosen:
            print_json(_record(policy))
    elif output == "csv":
        printer = CsvPrinter()
        for policy in chosen:
            printer.print(_record(policy) | {"params": _params(policy)})
    elif name:
        _describe(chosen[0])
    else:
        rows = [
            (_names(policy), policy.title, policy.source, _params(policy), str(_bytes(policy)))
            for policy in chosen
        ]
        headers = ("policy", "algorithm", "source", "parameters", "bytes/frame")
        print_table("", headers, rows, left=4)


def _describe(policy: Policy) -> None:
    click.echo(f"{_names(policy)}: {policy.title}\n")
    facts = [("source", policy.source), ("cost", _cost(policy)), ("hits", _hits(policy))]
    if policy.built_in:
        facts.append(("server", "built in"))
    if policy.library:
        facts.append(("server", f"shared_preload_libraries = '{policy.library}'"))
    if policy.randomized:
        facts.append(("random", "decisions depend on the seed (--seed)"))
    for label, text in facts:
        click.echo(f"  {label:8}{text}")
    if policy.params:
        rows = [
            (param.name, param.kind, param.format(param.default), _range(param), param.help)
            for param in policy.params
        ]
        click.echo()
        print_table("", ("parameter", "kind", "default", "range", "meaning"), rows, left=5)
    else:
        click.echo("  no parameters")


def _names(policy: Policy) -> str:
    return f"{policy.name} ({policy.alias})" if policy.alias else policy.name


def _params(policy: Policy) -> str:
    return ",".join(f"{param.name}={param.format(param.default)}" for param in policy.params)


def _bytes(policy: Policy) -> int:
    return policy.frame_bytes + policy.ghosts_per_frame * policy.ghost_bytes


def _cost(policy: Policy) -> str:
    if policy.handle is None:
        return "none in a server, where it cannot be: it knows the future"
    ghosts = (
        f" + {policy.ghosts_per_frame} ghosts of {policy.ghost_bytes}"
        if policy.ghosts_per_frame
        else ""
    )
    share = 100 * _bytes(policy) / PAGE_BYTES
    return f"{policy.frame_bytes}{ghosts} bytes per frame, {share:.2g}% of the 8 kB page in it"


def _hits(policy: Policy) -> str:
    if policy.handle is None:
        return "offline"
    return "without a lock" if policy.lock_free_hits else "under the pool's lock"


def _range(param: Param) -> str:
    if param.kind == "choice":
        return " | ".join(param.choices)
    return f"{param.format(param.min)} to {param.format(param.max)}"


def _record(policy: Policy) -> dict[str, Any]:
    return {
        "name": policy.name,
        "alias": policy.alias,
        "title": policy.title,
        "source": policy.source,
        "params": {param.name: _param_record(param) for param in policy.params},
        "bytes_per_frame": _bytes(policy),
        "frame_bytes": policy.frame_bytes,
        "ghosts_per_frame": policy.ghosts_per_frame,
        "ghost_bytes": policy.ghost_bytes,
        "lock_free_hits": policy.lock_free_hits,
        "randomized": policy.randomized,
        "library": policy.library,
        "built_in": policy.built_in,
        "offline": policy.handle is None,
    }


def _param_record(param: Param) -> dict[str, Any]:
    record: dict[str, Any] = {"kind": param.kind, "help": param.help}
    if param.kind == "choice":
        return record | {"default": param.choices[int(param.default)], "choices": param.choices}
    return record | {"default": param.default, "min": param.min, "max": param.max}
