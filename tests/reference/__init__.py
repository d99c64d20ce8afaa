"""Naive models of the replacement policies, one per policy.

Written from the papers and the contract in core/include/tidepool, not from
the C code: plain Python lists, no cleverness, any cost.  MODELS maps a
policy's name to its model.
"""

from reference.arc import ARC
from reference.base import Model
from reference.car import CAR
from reference.clock import Clock
from reference.fifo import FIFO
from reference.hyperbolic import Hyperbolic
from reference.keep import Keep
from reference.lean_evict import LeanEvict
from reference.lirs import LIRS
from reference.lirs2 import LIRS2
from reference.lru import LRU
from reference.lru_k import LRUK
from reference.mq import MQ
from reference.mru import MRU
from reference.osic import OSIC
from reference.page_temperature import PageTemperature
from reference.pbm import PBM
from reference.pbm_pq import PbmPq
from reference.random import Random
from reference.recycle_jam import Jam, Recycle
from reference.s3fifo import S3FIFO
from reference.sieve import Sieve
from reference.tac import TAC
from reference.two_q import TwoQ
from reference.w_tinylfu import WTinyLFU
from reference.watt import Watt

MODELS: dict[str, type[Model]] = {
    "fifo": FIFO,
    "random": Random,
    "clock": Clock,
    "lru": LRU,
    "mru": MRU,
    "lru_k": LRUK,
    "2q": TwoQ,
    "mq": MQ,
    "arc": ARC,
    "car": CAR,
    "lirs": LIRS,
    "lirs2": LIRS2,
    "osic": OSIC,
    "sieve": Sieve,
    "s3fifo": S3FIFO,
    "w_tinylfu": WTinyLFU,
    "hyperbolic": Hyperbolic,
    "lean_evict": LeanEvict,
    "watt": Watt,
    "keep": Keep,
    "recycle": Recycle,
    "jam": Jam,
    "pbm": PBM,
    "pbm_pq": PbmPq,
    "tac": TAC,
    "page_temperature": PageTemperature,
}
