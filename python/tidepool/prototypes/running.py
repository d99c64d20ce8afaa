"""A policy in Python in one replay."""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator, Mapping
from typing import Any

from tidepool._sim import ffi, lib
from tidepool.errors import PolicyError
from tidepool.policies import Instance
from tidepool.prototypes.policy import REFUSED, Access, PythonPolicy

NO_PAGE = 2**64 - 1  # the incoming page when a pool shrinks (sim.h)
RESIDENT = "Resident are pages that admit was called for, and since then neither evict nor forget."


class Running(Instance):
    """A policy in Python in one replay: calls from C, by frame, become calls of its methods.

    After an error C is told to call no more, and check() raises it.
    """

    def __init__(self, cls: type[PythonPolicy], arguments: Mapping[str, Any], label: str) -> None:
        self._type, self._arguments, self._label = cls, arguments, label
        self._self = ffi.new_handle(self)
        self._foreign = ffi.gc(
            lib.tps_foreign_new(_CALLS, self._self, cls.counts_all), lib.tps_foreign_free
        )
        if self._foreign == ffi.NULL:
            raise MemoryError(f"no memory for policy {label}")
        super().__init__(lib.tps_foreign_policy(self._foreign))
        self._error: BaseException | None = None
        self._policy: PythonPolicy | None = None
        self._page_in: dict[int, int] = {}  # of each resident frame
        self._frame_of: dict[int, int] = {}  # of each resident page

    def start(self, frames: int, seed: int) -> None:
        """Make the policy's object: the pool has this many frames."""
        self.random = random.Random(seed)
        policy = self._type.__new__(self._type)
        policy.surroundings, policy.frames = self, frames
        policy.__init__(**self._arguments)  # type: ignore[misc]
        self._policy = policy

    def check(self) -> None:
        """Raise what a call has raised."""
        if self._error is not None:
            raise self._error

    def fail(self, error: BaseException, method: str, page: int | None) -> None:
        """Keep an error of one of the policy's methods."""
        if self._error is None:
            where = f" for page {page}" if page is not None else ""
            error.add_note(f"The replay had called {self._type.__name__}.{method}{where}.")
            self._error = error
        lib.tps_foreign_stop(self._foreign)

    def usable(self, page: int) -> bool:
        """Whether a resident page can be evicted now."""
        frame = self._frame_of.get(page)
        if frame is None:
            raise self._wrong(
                f"asks whether page {page} is usable, which is not resident", RESIDENT
            )
        return bool(lib.tps_foreign_usable(self._foreign, frame))

    @property
    def policy(self) -> PythonPolicy:
        """The policy's object."""
        assert self._policy is not None
        return self._policy

    # ---- what the replay does ----

    def resized(self, frames: int) -> None:
        """Tell the policy of the pool's size, once it has begun."""
        if self._policy is not None:
            self._policy.frames = frames
            self._policy.resized()

    def page_in(self, frame: int) -> int:
        """Return the page in a resident frame."""
        return self._page_in[frame]

    def admitted(self, frame: int, page: int) -> None:
        """Note where the page is."""
        self._page_in[frame] = page
        self._frame_of[page] = frame

    def gone(self, frame: int) -> int:
        """Note that the frame's page is no longer there, and return it."""
        page = self._page_in.pop(frame)
        del self._frame_of[page]
        return page

    def victim(self, incoming: int, access: Access) -> int:
        """Ask the policy, and return the frame, TP_NONE or TP_REFUSED."""
        answer = self.policy.victim(None if incoming == NO_PAGE else incoming, access)
        if answer is REFUSED:
            return int(lib.TP_REFUSED)
        if answer is None:
            for page in self._usable_pages():
                raise self._wrong(
                    f"names no victim although page {page} is usable",
                    "Return a page, or tidepool.REFUSED if the new page is not to be cached.",
                )
            return int(lib.TP_NONE)
        try:
            page = operator.index(answer)  # type: ignore[arg-type]
        except TypeError:
            raise self._wrong(f"names {answer!r}, which is not a page", "Return a page.") from None
        frame = self._frame_of.get(page)
        if frame is None:
            refuse = page == incoming
            raise self._wrong(
                f"names page {page}, which is {'the incoming page' if refuse else 'not resident'}",
                "Return tidepool.REFUSED to refuse the page." if refuse else RESIDENT,
            )
        if not lib.tps_foreign_usable(self._foreign, frame):
            raise self._wrong(
                f"names page {page}, which is pinned",
                "Pass over pages for which self.usable(page) is false.",
            )
        return frame

    def _usable_pages(self) -> Iterator[int]:
        for page, frame in self._frame_of.items():
            if lib.tps_foreign_usable(self._foreign, frame):
                yield page

    def _wrong(self, what: str, hint: str | None = None) -> PolicyError:
        return PolicyError(f"victim of policy {self._label} {what}", hint)


def _access(access: Any) -> Access:
    return Access(access.now, access.backend, access.flags)


def _failed(kind: Any, error: Any, traceback: Any) -> None:
    """Keep the error of a call from C (a def_extern's onerror)."""
    call = traceback.tb_frame
    method = call.f_code.co_name.removeprefix("_")
    ffi.from_handle(call.f_locals["arg"]).fail(error, method, call.f_locals.get("page"))


def _resized(arg: Any, frames: int) -> None:
    ffi.from_handle(arg).resized(frames)


def _hit(arg: Any, frame: int, access: Any) -> None:
    running = ffi.from_handle(arg)
    page = running.page_in(frame)
    running.policy.hit(page, _access(access))


def _victim(arg: Any, page: int, access: Any) -> int:
    return int(ffi.from_handle(arg).victim(page, _access(access)))


def _evict(arg: Any, frame: int, access: Any) -> None:
    running = ffi.from_handle(arg)
    page = running.gone(frame)
    running.policy.evict(page, _access(access))


def _admit(arg: Any, frame: int, page: int, access: Any) -> None:
    running = ffi.from_handle(arg)
    running.admitted(frame, page)
    running.policy.admit(page, _access(access))


def _forget(arg: Any, frame: int) -> None:
    running = ffi.from_handle(arg)
    page = running.gone(frame)
    running.policy.forget(page)


_METHODS: dict[str, Any] = {
    f"tidepool{function.__name__}": function
    for function in (_resized, _hit, _victim, _evict, _admit, _forget)
}
for _name, _function in _METHODS.items():
    error = {"error": lib.TP_NONE} if _function is _victim else {}
    ffi.def_extern(_name, onerror=_failed, **error)(_function)

_CALLS: Any = ffi.new(
    "tps_foreign_calls *",
    {name.removeprefix("tidepool_"): getattr(lib, name) for name in _METHODS},
)

# a policy that is never in a pool: what all have in common can be asked of it
_template = ffi.gc(lib.tps_foreign_new(_CALLS, ffi.NULL, False), lib.tps_foreign_free)
ANY: Any = lib.tps_foreign_policy(_template)
