"""Pages from keys that are not page numbers: strings, negative numbers."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidepool.errors import TraceError

HINT = "For keys that are not page numbers, give --keys hash or --keys number."


class Keys(ABC):
    """Turns keys into pages, in the order of a trace; equal keys become one page."""

    def pages(self, keys: Any) -> NDArray[np.uint64]:
        """Return the pages for an array of strings, bytes or integers, without nulls."""
        distinct = _bytes(keys).dictionary_encode()
        words = distinct.dictionary.to_pylist()
        pages = np.fromiter(self._of(words), np.uint64, len(words))
        found: NDArray[np.uint64] = pages[distinct.indices.to_numpy(zero_copy_only=False)]
        return found

    @abstractmethod
    def _of(self, keys: list[bytes]) -> Iterable[int]:
        """Yield the pages for distinct keys, which are in the order of their first use."""


class HashedKeys(Keys):
    """A page is the key's 8-byte BLAKE2b hash, as a little-endian number."""

    def _of(self, keys: list[bytes]) -> Iterable[int]:
        for key in keys:
            digest = hashlib.blake2b(key, digest_size=8).digest()
            yield int.from_bytes(digest, "little")


class NumberedKeys(Keys):
    """Keys are numbered from 0 by first use; each takes some 150 bytes of memory."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def _of(self, keys: list[bytes]) -> Iterable[int]:
        numbers = self._numbers
        return (numbers.setdefault(key, len(numbers)) for key in keys)


KEYS: dict[str, type[Keys]] = {"hash": HashedKeys, "number": NumberedKeys}


def check_keys(how: str | None) -> None:
    """Raise TraceError unless this is None or in KEYS."""
    if how is not None and how not in KEYS:
        raise TraceError(f'unknown way to make pages from keys: "{how}"', "Use hash or number.")


def make_keys(how: str | None) -> Keys | None:
    """Return the named way to make pages from keys; None for None."""
    return None if how is None else KEYS[how]()


def are_keys(kind: Any) -> bool:
    """Whether values of this Arrow type can be keys."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _bytes(keys: Any) -> Any:
    """Return keys as bytes: of a number, its decimal digits."""
    if pa.types.is_dictionary(keys.type):
        keys = keys.dictionary_decode()
    if pa.types.is_integer(keys.type):
        keys = keys.cast(pa.string())
    return keys.cast(pa.binary())
