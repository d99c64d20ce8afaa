"""Simulations in one call, and what the commands do between reading options and printing.

- ``study``: simulate, curve, compare, pools, for notebooks and scripts;
- ``traces``: traces, whatever they are given as; ``results``, ``tables``: what comes out;
- ``plan``, ``curves``, ``comparison``, ``layouts``: what is asked of traces, what it takes and
  what it says; ``replays``, ``runs``: replays made; ``pictures``; ``backend``: where they run.

Values are read by ``tidepool.options``; replays are ``tidepool.simulation``'s.
"""
