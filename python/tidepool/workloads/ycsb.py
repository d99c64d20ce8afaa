"""A table as YCSB's, loaded into an instance, and the requests to it, for pgbench.

The Yahoo! Cloud Serving Benchmark reads and updates single records of ten
fields of 100 bytes, some records far more often than others.  Three things
are not YCSB's: keys are integers; the exponent of the Zipf distribution is
1.001, the least that pgbench has, where YCSB has 0.99; and pages are filled
to 85 % only, which leaves room for a new version of one record, so that an
update changes its page and no index.
"""

from __future__ import annotations

from tidepool.server import Instance

EXPONENT = 1.001
FIELDS = 10
FIELD_BYTES = 100

_REQUEST = """\
\\set rank random_zipfian(1, {records}, {exponent})
\\set key 1 + permute(:rank, {records}, 0)
"""
_READ = "SELECT * FROM usertable WHERE ycsb_key = :key;\n"
_UPDATE = f"""\
\\set text random(0, 999999999)
UPDATE usertable SET field0 = rpad(:text::text, {FIELD_BYTES}, 'x') WHERE ycsb_key = :key;
"""


def load(instance: Instance, records: int) -> None:
    """Create ``usertable`` with records of keys 1 to ``records``, the same bytes each time.

    It is made in the database ``postgres`` and left frozen and analyzed, so
    that reads write no page of it.  A record takes about 1,100 bytes.

    Raises:
        TidepoolError: the server failed, as it does when the table exists.
    """
    fields = range(FIELDS)
    columns = ", ".join(f"field{i} text" for i in fields)
    # an MD5 sum has 32 characters
    values = ", ".join(
        f"rpad(md5('{i} ' || key), {FIELD_BYTES}, md5(key || ' {i}'))" for i in fields
    )
    instance.query(
        f"CREATE TABLE usertable (ycsb_key bigint PRIMARY KEY, {columns}) WITH (fillfactor = 85);"
        f"INSERT INTO usertable SELECT key, {values} FROM generate_series(1, {records}) AS key"
    )
    instance.query("VACUUM (FREEZE, ANALYZE) usertable")


def read_script(records: int) -> str:
    """Return a pgbench script that reads a record.

    Which, is drawn by Zipf's law; the ranks are strewn over the keys, so that
    popular records lie with unpopular ones in their pages.
    """
    return _REQUEST.format(records=records, exponent=EXPONENT) + _READ


def update_script(records: int) -> str:
    """Return a pgbench script that updates a field of a record drawn as by ``read_script``."""
    return _REQUEST.format(records=records, exponent=EXPONENT) + _UPDATE
