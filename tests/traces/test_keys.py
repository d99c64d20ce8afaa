"""Keys that are no page numbers: hashed or numbered, whatever they are in."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidepool.errors import TraceError
from tidepool.traces import FORMATS, open_trace
from tidepool.traces.formats.keys import KEYS
from traces.helpers import pages

WORDS = ["user:17", "-5", "ü", "user:17", "7", "-5"]
NUMBERS = [0, 1, 2, 0, 3, 1]


def hashes(words: list[str]) -> list[int]:
    """As docs/trace-format.md defines them."""
    digests = (blake2b(word.encode(), digest_size=8).digest() for word in words)
    return [int.from_bytes(digest, "little") for digest in digests]


def write(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / f"t.{kind}"
    if kind == "txt":
        path.write_text("# comment\n" + "\r\n".join(WORDS) + "\n\n")
    elif kind == "csv":
        path.write_text("page,n\n" + "".join(f'"{word}",1\n' for word in WORDS))
    elif kind == "parquet":
        pq.write_table(pa.table({"page": WORDS}), path)
    else:
        pq.write_table(pa.table({"page": pa.array(WORDS).dictionary_encode()}), path)
    return path


@pytest.mark.parametrize("kind", ["txt", "csv", "parquet", "categories"])
def test_hashed_and_numbered(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, kind)
    assert pages(open_trace(path, keys="hash")) == hashes(WORDS)
    trace = open_trace(path, keys="number")
    assert pages(trace) == NUMBERS
    assert pages(trace) == NUMBERS  # once more


@pytest.mark.parametrize("kind", [pa.int64(), pa.int8(), pa.uint16(), pa.binary(1)])
def test_numbers_are_hashed_as_their_digits_bytes_as_they_are(tmp_path: Path, kind: object) -> None:
    binary = kind == pa.binary(1)
    values = [b"5", b"\xff"] if binary else [5, 99 if kind == pa.uint16() else -5]
    pq.write_table(pa.table({"page": pa.array(values, kind)}), tmp_path / "t")
    words = values if binary else [str(value).encode() for value in values]
    expected = [int.from_bytes(blake2b(w, digest_size=8).digest(), "little") for w in words]
    assert pages(open_trace(tmp_path / "t", keys="hash")) == expected


def test_keys_across_blocks_and_chunks(tmp_path: Path) -> None:
    words = [f"key-{i * i % 90_001}" for i in range(300_000)]
    (tmp_path / "t").write_text("\n".join(words))
    numbers: dict[str, int] = {}
    expected = [numbers.setdefault(word, len(numbers)) for word in words]
    assert len(expected) > len(set(expected)) > 1 << 14
    trace = open_trace(tmp_path / "t", keys="number")
    assert len(list(trace.chunks())) > 1
    assert pages(trace) == expected


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("bob,1\nal,2\nbob,3\n", {"page": "1", "time": "2"}, [0, 1, 0]),  # no header
        ("who,when\nbob,1\nal,2\n", {"page": "who", "time": "2"}, [0, 1]),
        ("page,when\nbob,1\nal,2\n", None, [0, 1]),
        ("-1,5\n-2,5\n-1,5\n", {"page": "1"}, [0, 1, 0]),
    ],
)
def test_what_is_a_header(
    tmp_path: Path, text: str, columns: dict[str, str] | None, expected: list[int]
) -> None:
    (tmp_path / "t").write_text(text)
    assert pages(open_trace(tmp_path / "t", None, columns, "number")) == expected


@pytest.mark.parametrize(
    ("name", "text", "columns", "message"),
    [
        ("t.txt", "1\n-5\n", None, "line 2: not a page number"),
        ("t.txt", "1\nuser:17\n", None, "line 2: not a page number"),
        ("t.csv", "page\n1\nbob\n", None, 'row 3: not a page: "bob"'),
        ("t.csv", "a,b\n1,2\n-5,2\n", {"page": "a"}, 'row 3: not a page: "-5"'),
        ("t.csv", "-5,2\n1,2\n", {"page": "1"}, 'row 1: not a page: "-5"'),
    ],
)
def test_the_hint_names_the_way_out(
    tmp_path: Path, name: str, text: str, columns: dict[str, str] | None, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(TraceError) as error:
        pages(open_trace(tmp_path / name, None, columns))
    assert str(error.value) == f"{tmp_path}/{name}: {message}"
    assert "--keys" in str(error.value.hint)
    assert len(pages(open_trace(tmp_path / name, None, columns, "hash"))) > 0


def test_the_hint_of_a_format_that_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("bob\nalice\n")
    with pytest.raises(TraceError, match="cannot tell the format") as error:
        open_trace(tmp_path / "t")
    assert "--keys" in str(error.value.hint)
    assert pages(open_trace(tmp_path / "t", keys="number")) == [0, 1]


@pytest.mark.parametrize("format", [name for name, f in FORMATS.items() if "keys" not in f.takes])
def test_formats_whose_pages_are_numbers(tmp_path: Path, format: str) -> None:
    with pytest.raises(TraceError, match=rf"^the pages of a trace of format {format} are numbers$"):
        open_trace(tmp_path / "t", format, keys="hash")


def test_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("block\n1\n")
    with pytest.raises(TraceError, match=r"/t\.csv: no column for keys$"):
        open_trace(tmp_path / "t.csv", keys="hash")
    with pytest.raises(TraceError, match=r'^unknown way to make pages from keys: "sort"$') as error:
        open_trace(tmp_path / "t.csv", keys="sort")
    assert all(how in str(error.value.hint) for how in KEYS)
    (tmp_path / "t.csv").write_text("page,b\nbob,1\n,2\n")
    with pytest.raises(TraceError, match=r"/t\.csv: row 3: no page$"):
        pages(open_trace(tmp_path / "t.csv", keys="number"))
    (tmp_path / "t").write_bytes(b"\0\1\2")
    with pytest.raises(TraceError, match=r"/t: cannot tell the format of the trace$"):
        open_trace(tmp_path / "t", keys="number")
    (tmp_path / "t").write_text("a\n" + "b" * (1 << 22))
    with pytest.raises(TraceError, match=r"/t: line 2: longer than 1048576 bytes$"):
        pages(open_trace(tmp_path / "t", keys="number"))
