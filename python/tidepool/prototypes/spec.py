"""A policy in Python as a policy among others."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

from tidepool._sim import lib
from tidepool.errors import PolicyError
from tidepool.policies import Instance, Policy, PolicySpec, find_policy
from tidepool.prototypes.policy import PythonPolicy
from tidepool.prototypes.running import ANY, Running


@dataclass(frozen=True)
class PythonSpec(PolicySpec):
    """A policy in Python with values for some of its parameters."""

    type: type[PythonPolicy] = field(default=PythonPolicy, kw_only=True)  # type: ignore[type-abstract]
    arguments: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        given = ",".join(f"{name}={value}" for name, value in self.arguments)
        return f"{self.policy.name}:{given}" if given else self.policy.name

    def typed_params(self) -> dict[str, Any]:
        """Return the values of all parameters, defaults included."""
        bound = inspect.signature(self.type).bind(**dict(self.arguments))
        bound.apply_defaults()
        return dict(bound.arguments)

    def begin(self) -> Instance:
        """Return the policy for one replay."""
        return Running(self.type, dict(self.arguments), str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.type, self.arguments)


def _restored(type: type[PythonPolicy], arguments: tuple[tuple[str, Any], ...]) -> PythonSpec:
    return python_policy(type, **dict(arguments))


def python_policy(cls: type[PythonPolicy], **parameters: Any) -> PythonSpec:
    """Return a class, with values for its parameters, as what simulations take.

    Raises PolicyError for a class that is no policy.
    """
    if not (isinstance(cls, type) and issubclass(cls, PythonPolicy)):
        what = "an object of the class" if isinstance(cls, PythonPolicy) else repr(cls)
        raise PolicyError(
            f"{what} is not a policy",
            "Give a subclass of tidepool.PythonPolicy itself: each replay makes its own object.",
        )
    name = cls.__name__
    if missing := sorted(getattr(cls, "__abstractmethods__", ())):
        raise PolicyError(f"policy {name} does not define {', '.join(missing)}")
    if _is_known(name):
        raise PolicyError(
            f'a class is called "{name}", as a policy in C is', "Give the class another name."
        )
    try:
        inspect.signature(cls).bind(**parameters)
        hash(tuple(parameters.values()))
    except TypeError as error:
        raise PolicyError(f"policy {name} cannot have these parameters: {error}") from None
    title = (inspect.getdoc(cls) or name).partition("\n")[0]
    policy = Policy(
        name=name,
        alias=None,
        title=title,
        source="Python",
        params=(),
        lock_free_hits=False,
        randomized=cls.randomized,
        frame_bytes=int(lib.tp_policy_frame_bytes(ANY)),
        ghosts_per_frame=0,
        ghost_bytes=0,
        handle=ANY,
    )
    return PythonSpec(policy, type=cls, arguments=tuple(parameters.items()))


def _is_known(name: str) -> bool:
    try:
        find_policy(name)
    except PolicyError:
        return False
    return True
