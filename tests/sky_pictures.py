"""Small pictures of the sky, as image services send them."""

from __future__ import annotations

import struct
import zlib


def png(width: int, height: int) -> bytes:
    """Grey throughout; one whose size is not usual has no pixels."""
    rows = b"".join(b"\0" + bytes([90]) * width for _ in range(height)) if width * height < 10**6 else b""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def jpeg(width: int, height: int) -> bytes:
    """As far as the head of its frame: enough to be taken for one, not to be drawn."""
    frame = struct.pack(">HBHHB", 11, 8, height, width, 1) + bytes(3)
    return b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + bytes(9) + b"\xff\xc0" + frame + bytes(20)


PNG, JPEG = png(16, 16), jpeg(16, 16)
