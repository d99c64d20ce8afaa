"""The replacement policies: names, parameters, costs.

Everything here is read from the tables that the C policies declare for
themselves (core/include/tidepool/policy.h).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tidepool._sim import ffi, lib
from tidepool.errors import PolicyError
from tidepool.notation import number, share

GHOST_BYTES: int = ffi.sizeof("tp_ghost")


@dataclass(frozen=True)
class Param:
    """A parameter of a policy.

    ``kind`` is "integer", "real", "fraction" (of the pool's frames, written
    0.01 or 1%) or "choice".  Values are numbers; of a choice, the index in
    ``choices``.
    """

    name: str
    kind: str
    default: float
    min: float
    max: float
    help: str
    choices: tuple[str, ...] = ()

    def parse(self, text: str) -> float:
        """Return the number that ``text`` stands for.

        Raises PolicyError if it is none or out of range.
        """
        if self.kind == "choice":
            if text not in self.choices:
                raise PolicyError(
                    f'invalid value for "{self.name}": "{text}"',
                    f"Use one of {', '.join(self.choices)}.",
                )
            return float(self.choices.index(text))
        value = share(text) if self.kind == "fraction" else number(text)
        if value is None:
            wanted = "a share: 0.05 or 5%" if self.kind == "fraction" else "a number"
            raise PolicyError(f'invalid value for "{self.name}": "{text}"', f"Use {wanted}.")
        if self.kind == "integer" and not value.is_integer():
            raise PolicyError(f'invalid value for "{self.name}": "{text}"', "Use a whole number.")
        if not self.min <= value <= self.max:
            limits = f"{self.format(self.min)} to {self.format(self.max)}"
            if self.kind == "fraction":
                limits += f", or {100 * self.min:g}% to {100 * self.max:g}%"
            raise PolicyError(f'value {text} of "{self.name}" is out of range', f"Use {limits}.")
        return value

    def format(self, value: float) -> str:
        """Return ``value`` as a user would type it."""
        if self.kind == "choice":
            return self.choices[int(value)]
        return f"{value:g}" if self.kind != "integer" else str(int(value))


@dataclass(frozen=True)
class Policy:
    """A replacement policy, as it declares itself."""

    name: str
    alias: str | None
    title: str
    source: str
    params: tuple[Param, ...]
    lock_free_hits: bool
    randomized: bool
    frame_bytes: int  # node, extra, member, hash buckets; with the default parameters
    ghosts_per_frame: int  # with the default parameters
    ghost_bytes: int  # per ghost
    reads_extents: bool = False  # goes by temperatures of extents (SSD)
    library: str | None = None  # of the server that has it
    built_in: bool = False  # into the server
    handle: Any = field(default=None, repr=False, compare=False)  # const tp_policy *; None: offline


@dataclass(frozen=True)
class PolicySpec:
    """A policy with values for some of its parameters, as in ``lru_k:k=3``."""

    policy: Policy
    values: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        formats = {param.name: param.format for param in self.policy.params}
        given = ",".join(f"{name}={formats[name](value)}" for name, value in self.values)
        return f"{self.policy.name}:{given}" if given else self.policy.name

    def params(self) -> dict[str, float]:
        """Return the values of all parameters, defaults included."""
        given = dict(self.values)
        return {param.name: given.get(param.name, param.default) for param in self.policy.params}

    def typed_params(self) -> dict[str, Any]:
        """Return the values of all parameters, each as the type that it is of."""
        types = {"integer": int, "real": float, "fraction": float}
        return {
            param.name: param.format(value) if param.kind == "choice" else types[param.kind](value)
            for param, value in zip(self.policy.params, self.params().values(), strict=True)
        }

    def begin(self) -> Instance:
        """Return the policy for one replay."""
        return Instance(self.policy.handle)

    def array(self) -> Any:
        """Return the values as the C layer takes them: double[TP_MAX_PARAMS]."""
        values = list(self.params().values())
        return ffi.new("double[]", values + [0.0] * (lib.TP_MAX_PARAMS - len(values)))

    def __reduce__(self) -> tuple[Any, ...]:
        # handles are addresses in this process; elsewhere, look it up again
        return parse_policy, (str(self),)


class Instance:
    """A policy in one replay: ``handle`` is what the C layer takes.

    Those in C need no more.  Others begin with start, when the pool has its
    frames; their errors are raised by check, to be called after each call of
    the C layer.
    """

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def start(self, frames: int, seed: int) -> None:
        """Begin: the pool has this many frames."""

    def check(self) -> None:
        """Raise the first error since the beginning."""


_KINDS = {
    lib.TP_PARAM_INTEGER: "integer",
    lib.TP_PARAM_REAL: "real",
    lib.TP_PARAM_FRACTION: "fraction",
    lib.TP_PARAM_ENUM: "choice",
}


def _text(pointer: Any) -> str:
    return str(ffi.string(pointer), "ascii")


def _choices(pointer: Any) -> Iterator[str]:
    i = 0
    while pointer != ffi.NULL and pointer[i] != ffi.NULL:
        yield _text(pointer[i])
        i += 1


def _param(param: Any) -> Param:
    return Param(
        name=_text(param.name),
        kind=_KINDS[param.type],
        default=param.default_value,
        min=param.min,
        max=param.max,
        help=_text(param.help),
        choices=tuple(_choices(param.choices)),
    )


@cache
def policies() -> tuple[Policy, ...]:
    """Return all online policies, in the order of the manual."""
    found: list[Policy] = []
    while lib.tp_policies[len(found)] != ffi.NULL:
        handle = lib.tp_policies[len(found)]
        library = _text(lib.tp_policy_libraries[len(found)])
        found.append(
            Policy(
                name=_text(handle.name),
                alias=_text(handle.alias) if handle.alias != ffi.NULL else None,
                title=_text(handle.title),
                source=_text(handle.source),
                params=tuple(
                    _param(handle.params[i]) for i in range(lib.tp_policy_param_count(handle))
                ),
                library=None if library in ("builtin", "none") else f"pg_bp_{library}",
                built_in=library == "builtin",
                lock_free_hits=bool(handle.flags & lib.TP_HIT_LOCK_FREE),
                randomized=bool(handle.flags & lib.TP_RANDOMIZED),
                frame_bytes=lib.tp_policy_frame_bytes(handle),
                ghosts_per_frame=lib.tp_policy_ghosts_per_frame(handle, ffi.NULL),
                ghost_bytes=GHOST_BYTES,
                reads_extents=bool(handle.flags & lib.TP_READS_EXTENTS),
                handle=handle,
            )
        )
    return tuple(found)


OPT = Policy(
    name="opt",
    alias=None,
    title="optimal replacement, offline",
    source="Belady, IBM Systems Journal 1966",
    params=(
        Param(
            name="bypass",
            kind="choice",
            default=0,
            min=0,
            max=1,
            help="whether the newcomer may be the page that goes",
            choices=("off", "on"),
        ),
    ),
    lock_free_hits=False,
    randomized=False,
    frame_bytes=0,
    ghosts_per_frame=0,
    ghost_bytes=0,
    handle=None,
)
"""Knows the future, so it exists in simulation only: it is not in policies()."""


def find_policy(name: str) -> Policy:
    """Return the policy with this name or alias, OPT included.

    Raises PolicyError if there is none.
    """
    by_name = {
        known: policy
        for policy in (*policies(), OPT)
        for known in (policy.name, policy.alias)
        if known
    }
    if name in by_name:
        return by_name[name]
    if not name:
        raise PolicyError("no policy is named", '"tidepool policies" lists them.')
    close = [f'"{known}"' for known in difflib.get_close_matches(name, by_name)]
    either = " or ".join(filter(None, (", ".join(close[:-1]), *close[-1:])))
    hint = f"Did you mean {either}?" if close else '"tidepool policies" lists them.'
    raise PolicyError(f'unknown policy "{name}"', hint)


def parse_policy(text: str) -> PolicySpec:
    """Return the policy that ``NAME[:k=v,…]`` describes; raise PolicyError if it cannot be."""
    return parse_policy_of(find_policy(text.partition(":")[0]), text)


def parse_policy_of(policy: Policy, text: str) -> PolicySpec:
    """Return this policy with the values that ``NAME[:k=v,…]`` gives its parameters."""
    name, _, rest = text.partition(":")
    params = {param.name: param for param in policy.params}
    values: dict[str, float] = {}
    for item in rest.split(",") if rest else []:
        key, equals, value = item.partition("=")
        if not equals:
            raise PolicyError(
                f'parameter "{item}" of policy "{name}" has no value', "Write it as k=v."
            )
        if key not in params:
            known = ", ".join(params) or "none"
            raise PolicyError(f'policy "{name}" has no parameter "{key}"', f"It has: {known}.")
        if key in values:
            raise PolicyError(f'parameter "{key}" of policy "{name}" is given twice')
        values[key] = params[key].parse(value)
    return PolicySpec(policy, tuple(values.items()))
