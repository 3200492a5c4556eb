"""Office packages with the clock taken out, so that the same content is the same bytes."""

from __future__ import annotations

import io
import re
import zipfile

_STAMP = (2025, 11, 14, 9, 0, 0)
_MODIFIED = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*(<)")


def fixed(package: bytes) -> bytes:
    """The package packed anew, every part with one time stamp, its properties' times replaced."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(package)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            data = old.read(name)
            if name == "docProps/core.xml":
                data = _MODIFIED.sub(rb"\g<1>2025-11-14T09:00:00Z\g<2>", data)
            entry = zipfile.ZipInfo(name, _STAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, data)
    return buffer.getvalue()
