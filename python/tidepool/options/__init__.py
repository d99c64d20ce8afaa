"""What users ask for, as they write it: the rules behind the commands and the library.

- ``values``: policies, sizes, amounts, rates, resizes, columns, and lists of them;
- ``pools``: pools and layouts; ``ssd``: tiers on an SSD;
- ``input``: a trace with the counts that shares refer to.

Numbers themselves are read in ``tidepool.notation``.
"""

from tidepool.options.input import Input, Watch, kept, unwatched
from tidepool.options.pools import (
    POOL_METAVAR,
    GivenLayout,
    GivenPool,
    parse_layout,
    parse_pool,
    parse_pools,
)
from tidepool.options.ssd import RelationChoice, SsdOptions, chosen, parse_choices
from tidepool.options.values import (
    Amount,
    GivenSize,
    Resize,
    all_policies,
    items_of,
    parse_amount,
    parse_columns,
    parse_data,
    parse_given_size,
    parse_number,
    parse_numbers,
    parse_policies,
    parse_rate,
    parse_resize,
    parse_resizes,
    parse_share,
    parse_sizes,
    parse_ssd_policies,
)

__all__ = [
    "POOL_METAVAR",
    "Amount",
    "GivenLayout",
    "GivenPool",
    "GivenSize",
    "Input",
    "RelationChoice",
    "Resize",
    "SsdOptions",
    "Watch",
    "all_policies",
    "chosen",
    "items_of",
    "kept",
    "parse_amount",
    "parse_choices",
    "parse_columns",
    "parse_data",
    "parse_given_size",
    "parse_layout",
    "parse_number",
    "parse_numbers",
    "parse_policies",
    "parse_pool",
    "parse_pools",
    "parse_rate",
    "parse_resize",
    "parse_resizes",
    "parse_share",
    "parse_sizes",
    "parse_ssd_policies",
    "unwatched",
]
