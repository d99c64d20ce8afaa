"""LIRS2: stack S holds the last two references to every page (SYSTOR 2021)."""

from __future__ import annotations

from reference.lirs import LIRS


class LIRS2(LIRS):
    """The bottom of S is the older reference to a LIR page.

    A HIR page becomes LIR at a reference if the two before it are in S.
    """

    policy = "lirs2"

    depth = 2
