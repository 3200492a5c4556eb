"""Opening Office files that are locked with a password, by msoffcrypto.

Excel locks a "read-only recommended" or structure-protected workbook with a password that it
knows by itself, VelvetSweatshop, and opens it without asking; so do we.
"""

from __future__ import annotations

import io
from dataclasses import replace

from deskwork.tools.readers.source import Source, locked

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DEFAULT = "VelvetSweatshop"


def unlocked(source: Source) -> Source:
    """The same source, or with the bytes it has once unlocked. Raises `BadFile` if none does."""
    # Encrypted OOXML is an OLE container with this stream name in UTF-16.
    if not source.data.startswith(OLE):
        return source
    package = "EncryptedPackage".encode("utf-16-le") in source.data
    if not package and not _is_locked_book(source.data):
        return source
    import msoffcrypto

    for password in (_DEFAULT, *source.passwords):
        opened = io.BytesIO()
        try:
            office = msoffcrypto.OfficeFile(io.BytesIO(source.data))
            # verify_password=True refuses good files of some writers; the content proves it.
            office.load_key(password=password)
            office.decrypt(opened)
        except Exception:  # noqa: BLE001  # its errors for a wrong password are of many kinds
            continue
        data = opened.getvalue()
        if data.startswith(b"PK\x03\x04" if package else OLE):
            return replace(source, data=data)
    raise locked(source)


def _is_locked_book(data: bytes) -> bool:
    """Whether an old workbook's stream is encrypted (its FILEPASS record comes near the start)."""
    if "Workbook".encode("utf-16-le") not in data:
        return False
    import msoffcrypto

    try:
        return bool(msoffcrypto.OfficeFile(io.BytesIO(data)).is_encrypted())
    except Exception:  # noqa: BLE001  # broken: its reader will say so
        return False
