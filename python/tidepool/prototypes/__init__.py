"""Replacement policies written in Python: prototypes, driven by the same replay as those in C.

A policy is a subclass of PythonPolicy.  It learns of pages by number; frames,
pins, queues, warm-up and counting are the replay's.  What it answers is
checked.  Slow: every event is a call from C.

- ``policy``: the class to derive from; ``spec``: it and its parameters as a policy among others;
- ``running``: one in a replay, called from sim/src/foreign.c.
"""

from tidepool.prototypes.policy import REFUSED, Access, PythonPolicy, Refused
from tidepool.prototypes.spec import PythonSpec, python_policy

__all__ = ["REFUSED", "Access", "PythonPolicy", "PythonSpec", "Refused", "python_policy"]
