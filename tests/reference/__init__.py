"""Naive models of the replacement policies, one per policy.

Written from the papers and the contract in core/include/tidepool, not from
the C code: plain Python lists, no cleverness, any cost.  MODELS maps a
policy's name to its model: a subclass of Model, anywhere in this package,
that names its policy.
"""

from importlib import import_module
from pkgutil import iter_modules

from reference.base import Model


def _models() -> dict[str, type[Model]]:
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    found = {}
    families = [Model]
    while families:
        family = families.pop()
        families += family.__subclasses__()
        if "policy" in vars(family):
            found[family.policy] = family
    return found


MODELS = _models()
