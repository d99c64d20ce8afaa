"""The policies and parameters that pools and models are compared with."""

from __future__ import annotations

from tidepool import policies

# Parameters beside the defaults that the models are run with.
VARIANTS: dict[str, list[str]] = {
    "clock": ["max_usage=1", "max_usage=2,initial=0"],
    "2q": ["kin=0.5,kout=1", "kin=0.1,kout=0.2", "kin=1,kout=3"],
    "mq": [
        "queues=1",
        "queues=2,lifetime=3",
        "queues=3,lifetime=1,qout=0.5",
        "qout=0",
        "queues=4,lifetime=6,qout=1.5",
    ],
    "s3fifo": ["small=0.5,ghost=2", "ghost=0", "small=0,ghost=0.5"],
    "clock2q_plus": ["small=0.5,ghost=2", "small=0.7,window=1", "ghost=0,window=0"],
    "slru": ["protected=0.5", "protected=0", "protected=1"],
    "jam": ["max_usage=7"],
    "osic": ["partitions=3", "partitions=16"],
    "watt": [
        "history=1",
        "sample=2,epoch=1,history=0.4",
        "k_read=2,k_write=0,history=2,dampening=1",
        "k_read=5,k_write=2,write_cost=0.5,dampening=0,sample=3",
    ],
    "hyperbolic": ["sample=3"],
    "lean_evict": ["cooling=0.5"],
    "w_tinylfu": ["window=0.3,protected=0.5"],
    "lru_k": ["k=1", "k=3", "crp=3", "k=2,crp=2,history=0.5", "k=3,crp=1,history=2", "history=0"],
    "lirs": ["hir=0.3,ghosts=1", "hir=0.1,ghosts=0.5", "ghosts=0"],
    "pbm": [
        "remember=0,neighbours=off,scan_history=off",
        "samples=2,victims=3,remember=2,neighbours=off",
        "samples=1,victims=4,remember=0,lru_fallback=off",
        "samples=3,remember=16,frequency=on,scan_history=off",
        "frequency=off,index_scans=off,samples=4,remember=2",
    ],
    "pbm_pq": [
        "bucket=0.01,buckets_per_group=2,groups=5,victims=1,corrections=2",
        "bucket=0.001,buckets_per_group=1,groups=12,victims=3,corrections=1",
        "bucket=0.1,buckets_per_group=5,groups=1,victims=2",
    ],
    "tac": [
        "extent=3,aging=0.5",
        "extent=2,aging=1,window=3,sequential_above=1,heap_refresh=1",
        "extent=1,admit_margin=0.5,heap_refresh=0",
        "extent=4,window=2,aging=0,admit_margin=0",
    ],
    "page_temperature": [
        "admit_margin=0.01",
        "extent=5,aging=0.5,burst=0.1,burst_weight=1,admit_margin=0.5,sample=3",
        "extent=8,streams=off,pages=off,burst_weight=0,admit_margin=0",
        "extent=40,aging=2,burst=0,burst_weight=0.5,sample=2,admit_margin=0",
    ],
    "lirs2": ["hir=0.3,ghosts=1", "hir=0.5,ghosts=4"],
}

SPECS = [
    f"{policy.name}:{variant}" if variant else policy.name
    for policy in policies()
    for variant in ["", *VARIANTS.get(policy.name, [])]
]
