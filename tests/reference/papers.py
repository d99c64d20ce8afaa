"""Algorithms as their papers have them: one step per reference.

A pool's interface splits a miss into victim, eviction and admission; the
policies claim that they decide as the paper does all the same.  These programs
do not split it, so equal misses prove the claim.  Each returns the misses of a
sequence of pages.  Lists of pages, head first.
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


def car(pages: Iterable[int], c: int) -> int:
    """Bansal and Modha, FAST 2004, Figure 2; a clock's hand is at its head, t[0]."""
    t1: list[int] = []
    t2: list[int] = []
    b1: list[int] = []
    b2: list[int] = []
    bit: dict[int, int] = {}  # page reference bits
    p = 0.0
    misses = 0

    def replace() -> None:
        while True:  # line 23
            if len(t1) >= max(1, p):  # line 24
                x = t1.pop(0)
                if bit[x] == 0:  # lines 25 to 27
                    b1.insert(0, x)
                    return
            else:
                x = t2.pop(0)
                if bit[x] == 0:  # lines 32 to 34
                    b2.insert(0, x)
                    return
            bit[x] = 0  # lines 29 and 36
            t2.append(x)

    for x in pages:
        if x in t1 or x in t2:  # line 1
            bit[x] = 1
            continue
        misses += 1
        if len(t1) + len(t2) == c:  # line 4
            replace()
            if x not in b1 and x not in b2:
                if len(t1) + len(b1) == c:  # line 6
                    b1.pop()
                elif len(t1) + len(t2) + len(b1) + len(b2) == 2 * c:  # line 8
                    b2.pop()
        if x in b1:  # line 14
            p = min(p + max(1, len(b2) / len(b1)), c)
            b1.remove(x)
            t2.append(x)
        elif x in b2:  # line 17
            p = max(p - max(1, len(b1) / len(b2)), 0)
            b2.remove(x)
            t2.append(x)
        else:  # line 12
            t1.append(x)
        bit[x] = 0
    return misses


def sieve(pages: Iterable[int], cache_size: int) -> int:
    """Zhang, Yang, Yue, Vigfusson and Rashmi, NSDI 2024, Algorithm 1."""
    t: list[int] = []
    visited: dict[int, int] = {}
    p: int | None = None  # the hand
    misses = 0

    def prev(o: int) -> int | None:
        i = t.index(o)
        return t[i - 1] if i > 0 else None

    for x in pages:
        if x in t:  # line 1
            visited[x] = 1
            continue
        misses += 1
        if len(t) == cache_size:  # line 4
            o = t[-1] if p is None else p  # lines 5 to 7
            while visited[o] == 1:  # line 8
                visited[o] = 0
                before = prev(o)
                o = t[-1] if before is None else before  # lines 10 to 12
            p = prev(o)  # line 13
            t.remove(o)
        t.insert(0, x)
        visited[x] = 0
    return misses


def s3_fifo(
    pages: Iterable[int],
    cache_size: int,
    s_size: float,
    g_size: int,
    each_step_asks_anew: bool = False,
) -> int:
    """Yang, Zhang, Qiu, Yue and Rashmi, SOSP 2023, Algorithm 1.

    ``s_size``: the paper's 0.1 * cache size; M has the rest.
    A page that moves to M has its frequency cleared, as the paper's text, not
    its pseudo-code, says; a page that comes in leaves G.

    ``each_step_asks_anew`` (s3fifo.c, 1): whether S or M is to evict is decided
    again after each page, and no call evicts from both.
    """
    s: list[int] = []
    m: list[int] = []
    g: list[int] = []
    freq: dict[int, int] = {}
    misses = 0

    def evict_s() -> None:
        evicted = False
        while not evicted and s:  # line 21
            t = s.pop()
            if freq[t] > 1:
                freq[t] = 0
                m.insert(0, t)  # line 24
                if each_step_asks_anew:
                    return
                if len(m) > cache_size - s_size:  # line 25
                    evict_m()
            else:
                g.insert(0, t)  # line 28
                del g[g_size:]
                evicted = True

    def evict_m() -> None:
        evicted = False
        while not evicted and m:  # line 33
            t = m.pop()
            if freq[t] > 0:
                freq[t] -= 1
                m.insert(0, t)
            else:
                evicted = True

    for x in pages:
        if x in s or x in m:  # line 2
            freq[x] = min(freq[x] + 1, 3)
            continue
        misses += 1
        while len(s) + len(m) >= cache_size:  # line 8
            if len(s) >= s_size:  # line 15
                evict_s()
            else:
                evict_m()
        if x in g:  # line 10
            g.remove(x)
            m.insert(0, x)
        else:
            s.insert(0, x)
        freq[x] = 0
    return misses


def lru_k(pages: Iterable[int], c: int, k: int, crp: int, retained: int) -> int:
    """O'Neil, O'Neil and Weikum, SIGMOD 1993, Figure 2.1.

    Left open there and settled here: time counts references from 1 on, so that
    0 in HIST stands for a reference not known, and none is made of it; the
    subsidiary policy is LRU; HIST is retained for the last ``retained`` pages
    that were evicted.

    The loops over HIST run from K down: as printed, upwards, they would copy
    HIST(p, 1) into all.

    If no page is eligible, which the figure has no answer for, all are.
    """
    hist: dict[int, list[int]] = {}  # of pages in the buffer and evicted ones
    last: dict[int, int] = {}  # of pages in the buffer
    evicted: list[int] = []
    misses = 0

    for t, p in enumerate(pages, 1):
        if p in last:
            if t - last[p] > crp:  # a new, uncorrelated reference
                correl_period = last[p] - hist[p][0]
                for i in range(k - 1, 0, -1):
                    before = hist[p][i - 1]
                    hist[p][i] = before + correl_period if before else 0
                hist[p][0] = t
            last[p] = t
            continue
        misses += 1
        if len(last) == c:
            eligible = [q for q in last if t - last[q] > crp] or list(last)
            victim = min(eligible, key=lambda q: (hist[q][k - 1], last[q]))
            del last[victim]
            evicted.insert(0, victim)
        if p in evicted:
            evicted.remove(p)
            for i in range(k - 1, 0, -1):
                hist[p][i] = hist[p][i - 1]
        else:
            hist[p] = [0] * k
        hist[p][0] = last[p] = t
        for q in evicted[retained:]:
            del hist[q]
        del evicted[retained:]
    return misses
