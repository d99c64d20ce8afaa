"""Where replays run, and who watches them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

Advance = Callable[[int], None]
Bar = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Shows how far some work is: what is done, and its steps in all if they are known."""


@contextmanager
def no_bar(doing: str, total: int | None) -> Iterator[Advance]:
    """Show nothing."""
    yield lambda steps: None


@dataclass(frozen=True)
class Backend:
    """``executor`` is None for threads here; ``workers`` how many jobs run at once."""

    executor: Executor | None = None
    workers: int | None = None
    bar: Bar = no_bar
