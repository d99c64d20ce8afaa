"""Keys that are no page numbers (strings, numbers below 0), made into pages."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidepool.errors import TraceError

HINT = "Keys that are no page numbers need --keys: hash, or number."


class Keys(ABC):
    """Makes pages of keys, in the order of a trace; equal keys are one page."""

    def pages(self, keys: Any) -> NDArray[np.uint64]:
        """Return the pages of an array of texts, of bytes or of whole numbers, without nulls."""
        distinct = _bytes(keys).dictionary_encode()
        words = distinct.dictionary.to_pylist()
        pages = np.fromiter(self._of(words), np.uint64, len(words))
        found: NDArray[np.uint64] = pages[distinct.indices.to_numpy(zero_copy_only=False)]
        return found

    @abstractmethod
    def _of(self, keys: list[bytes]) -> Iterable[int]:
        """Return the pages of distinct keys, in the order of their first use."""


class HashedKeys(Keys):
    """The page is the key's BLAKE2b hash of 8 bytes, as a little-endian number."""

    def _of(self, keys: list[bytes]) -> Iterable[int]:
        for key in keys:
            digest = hashlib.blake2b(key, digest_size=8).digest()
            yield int.from_bytes(digest, "little")


class NumberedKeys(Keys):
    """Keys are numbered from 0 in the order of their first use; some 150 bytes of memory each."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def _of(self, keys: list[bytes]) -> Iterable[int]:
        numbers = self._numbers
        return (numbers.setdefault(key, len(numbers)) for key in keys)


KEYS: dict[str, type[Keys]] = {"hash": HashedKeys, "number": NumberedKeys}


def check_keys(how: str | None) -> None:
    """Raise TraceError unless this is None or a way to make pages of keys."""
    if how is not None and how not in KEYS:
        raise TraceError(f'keys cannot be made into pages by "{how}"', "Use hash or number.")


def make_keys(how: str | None) -> Keys | None:
    """Return what makes pages of keys in this way; None for none."""
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
    """Return keys as bytes: a number's are its decimal digits, as in a text."""
    if pa.types.is_dictionary(keys.type):
        keys = keys.dictionary_decode()
    if pa.types.is_integer(keys.type):
        keys = keys.cast(pa.string())
    return keys.cast(pa.binary())
