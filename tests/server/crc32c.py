"""The checksum of the server's own files: CRC-32C, byte by byte."""

from __future__ import annotations


def _after(byte: int) -> int:
    """What a byte makes of a checksum of 0."""
    crc = byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


_AFTER = [_after(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _AFTER[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
