"""ARC, 2Q and MQ as their papers have them: one step per reference.

A pool's interface splits a miss into victim, eviction and admission.  The
policies and their models say that they decide as the paper does all the same;
these programs, which know of no such split, are what that is held against.
Each returns the misses of a sequence of pages.  Lists of pages, head first.
"""

from __future__ import annotations

from collections.abc import Iterable


def arc(pages: Iterable[int], c: int) -> int:
    """Megiddo and Modha, FAST 2003, Figure 4."""
    t1: list[int] = []
    t2: list[int] = []
    b1: list[int] = []
    b2: list[int] = []
    p = 0.0
    misses = 0

    def replace(x: int) -> None:
        if t1 and (len(t1) > p or (x in b2 and len(t1) == p)):
            b1.insert(0, t1.pop())
        else:
            b2.insert(0, t2.pop())

    for x in pages:
        if x in t1 or x in t2:  # case I
            (t1 if x in t1 else t2).remove(x)
            t2.insert(0, x)
            continue
        misses += 1
        if x in b1:  # case II
            p = min(p + (1 if len(b1) >= len(b2) else len(b2) / len(b1)), c)
            replace(x)
            b1.remove(x)
            t2.insert(0, x)
        elif x in b2:  # case III
            p = max(p - (1 if len(b2) >= len(b1) else len(b1) / len(b2)), 0)
            replace(x)
            b2.remove(x)
            t2.insert(0, x)
        else:  # case IV
            if len(t1) + len(b1) == c:
                if len(t1) < c:
                    b1.pop()
                    replace(x)
                else:
                    t1.pop()
            else:
                total = len(t1) + len(t2) + len(b1) + len(b2)
                if total >= c:
                    if total == 2 * c:
                        b2.pop()
                    replace(x)
            t1.insert(0, x)
    return misses


def two_q(pages: Iterable[int], c: int, kin: int, kout: int) -> int:
    """Johnson and Shasha, VLDB 1994, "2Q, full version"."""
    a1in: list[int] = []
    a1out: list[int] = []
    am: list[int] = []
    misses = 0

    def reclaim() -> None:
        if len(a1in) + len(am) < c:
            return
        if len(a1in) > kin or not am:  # the paper leaves an empty Am out
            a1out.insert(0, a1in.pop())
            if len(a1out) > kout:
                a1out.pop()
        else:
            am.pop()

    for x in pages:
        if x in am:
            am.remove(x)
            am.insert(0, x)
        elif x in a1out:
            misses += 1
            reclaim()
            am.insert(0, x)
            if x in a1out:
                a1out.remove(x)
        elif x not in a1in:
            misses += 1
            reclaim()
            a1in.insert(0, x)
    return misses


def mq(pages: Iterable[int], c: int, m: int, life_time: int, qout_size: int) -> int:
    """Zhou, Philbin and Li, USENIX 2001, head and tail exchanged."""
    queues: list[list[int]] = [[] for _ in range(m)]
    queue_of: dict[int, int] = {}  # of resident pages
    expire_time: dict[int, int] = {}
    references: dict[int, int] = {}  # of resident pages and those in qout
    qout: list[int] = []
    current_time = 0
    misses = 0

    def insert(b: int, k: int) -> None:
        queues[k].insert(0, b)
        queue_of[b] = k
        expire_time[b] = current_time + life_time

    for b in pages:
        if b in queue_of:
            queues[queue_of[b]].remove(b)
        else:
            misses += 1
            if len(queue_of) == c:
                victim = next(queue for queue in queues if queue).pop()
                del queue_of[victim]
                if len(qout) == qout_size:
                    del references[qout.pop()]
                qout.insert(0, victim)
            if b in qout:
                qout.remove(b)
            else:
                references[b] = 0
        references[b] += 1
        insert(b, min(references[b].bit_length() - 1, m - 1))
        current_time += 1
        for k in range(1, m):
            if queues[k] and expire_time[queues[k][-1]] < current_time:
                insert(queues[k].pop(), k - 1)
    return misses
