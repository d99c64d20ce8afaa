"""Columns written as lines of text."""

from __future__ import annotations

from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray


def words(choices: list[str], indexes: NDArray[Any]) -> Any:
    """Return a column of words, chosen by their indexes."""
    return pa.array(choices, pa.string()).take(pa.array(indexes))


def write_lines(out: IO[bytes], columns: list[Any], delimiter: str = ",") -> None:
    """Write a line for each row."""
    options = pacsv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
    pacsv.write_csv(pa.table(columns, [str(i) for i in range(len(columns))]), out, options)
