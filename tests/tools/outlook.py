"""Outlook's messages made by code: an OLE container with one stream for each property."""

import struct
from dataclasses import dataclass, field

_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_SECTOR, _SMALL, _CUTOFF = 512, 64, 4096

Folder = dict[str, "bytes | Folder"]


def compound(root: Folder) -> bytes:
    """The container. Streams under 4,096 bytes lie together in one, in sectors of 64 bytes."""
    made = _Container()
    made.entry("Root Entry", root, kind=5)
    small = made.add(bytes(made.small))
    root_at = 116  # where an entry says its first sector and its size
    made.entries[0] = made.entries[0][:root_at] + struct.pack("<IQ", small, len(made.small))
    of_small = struct.pack(f"<{len(made.small_table)}I", *made.small_table)
    small_start = made.add(of_small + b"\xff" * (-len(of_small) % _SECTOR))
    directory = b"".join(made.entries)
    directory += b"\0" * (-len(directory) % _SECTOR)
    start = made.add(directory)
    count = 1
    while (len(made.table) + count) * 4 > count * _SECTOR:
        count += 1
    places = range(len(made.table), len(made.table) + count)
    made.table += [_FAT] * count
    made.table += [_FREE] * (count * _SECTOR // 4 - len(made.table))
    header = struct.pack(
        "<8s16sHHHHH6xIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6,
        0, count, start, 0, _CUTOFF, small_start, -(-len(of_small) // _SECTOR), _END, 0,
    )  # fmt: skip
    header += struct.pack("<109I", *places, *[_FREE] * (109 - count))
    return header + b"".join(made.sectors) + struct.pack(f"<{len(made.table)}I", *made.table)


@dataclass
class _Container:
    sectors: list[bytes] = field(default_factory=list)
    table: list[int] = field(default_factory=list)
    entries: list[bytes] = field(default_factory=list)
    small: bytearray = field(default_factory=bytearray)
    small_table: list[int] = field(default_factory=list)

    def add(self, data: bytes) -> int:
        """The first sector of the data."""
        start = len(self.table)
        pieces = [data[at : at + _SECTOR] for at in range(0, len(data), _SECTOR)]
        for number, piece in enumerate(pieces, 1):
            self.sectors.append(piece.ljust(_SECTOR, b"\0"))
            self.table.append(_END if number == len(pieces) else len(self.table) + 1)
        return start if pieces else _END

    def add_small(self, data: bytes) -> int:
        """The first small sector of the data, if it is small."""
        if not 0 < len(data) < _CUTOFF:
            return _END
        start = len(self.small_table)
        count = -(-len(data) // _SMALL)
        self.small += data.ljust(count * _SMALL, b"\0")
        self.small_table += [*range(start + 1, start + count), _END]
        return start

    def entry(self, name: str, value: "bytes | Folder", kind: int = 0, after: int = _FREE) -> int:
        """The number of a new entry; the entries of one folder are a chain, not a tree."""
        number = len(self.entries)
        self.entries.append(b"")
        child, start, size = _FREE, _END, 0
        if isinstance(value, dict):
            for inner, data in reversed(value.items()):
                child = self.entry(inner, data, after=child)
        else:
            start, size = self.add_small(value), len(value)
            if size >= _CUTOFF:
                start = self.add(value)
        wide = name.encode("utf-16-le")
        self.entries[number] = struct.pack(
            "<64sHBBIII16sI8s8sIQ",
            wide, len(wide) + 2, kind or (1 if isinstance(value, dict) else 2), 1,
            _FREE, after, child, b"", 0, b"", b"", start, size,
        )  # fmt: skip
        return number


def properties(header: int, values: dict[int, str | bytes | int]) -> Folder:
    """The streams of one object; ``header`` is the length of its property stream's beginning."""
    found: Folder = {}
    rows = b"\0" * header
    for number, value in values.items():
        if isinstance(value, int):
            kind = 0x40 if value > 1 << 32 else 0x03
            rows += struct.pack("<HHIQ", kind, number, 6, value)
            continue
        kind = 0x1F if isinstance(value, str) else 0x102
        data = value.encode("utf-16-le") if isinstance(value, str) else value
        found[f"__substg1.0_{number:04X}{kind:04X}"] = data
        rows += struct.pack("<HHIII", kind, number, 6, len(data), 0)
    found["__properties_version1.0"] = rows
    return found


def message(subject: str, body: str, files: dict[str, bytes]) -> bytes:
    """A message from Ada to Bo, sent on 30 November 2025 at noon (UTC)."""
    sent = 134089776000000000  # tenths of microseconds since 1601
    root = properties(
        32,
        {
            0x001A: "IPM.Note",
            0x0037: subject,
            0x1000: body,
            0x0C1A: "Ada",
            0x0C1F: "ada@example.org",
            0x007D: "From: Ada <ada@example.org>\r\n",
            0x0039: sent,
        },
    )
    root["__recip_version1.0_#00000000"] = properties(
        8, {0x3001: "Bo", 0x3003: "bo@example.org", 0x39FE: "bo@example.org"}
    )
    for number, (name, data) in enumerate(files.items()):
        root[f"__attach_version1.0_#{number:08X}"] = properties(
            8, {0x3707: name, 0x3701: data, 0x3705: 1}
        )
    return compound(root)
