"""Office's packages (DOCX, XLSX, PPTX): opened with bounds, and brought to one set of names.

ISO Strict files are the same documents under other namespaces, which the libraries don't know.
They are rewritten to the usual ones in memory. Macros are never run; they are told.
"""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

from deskwork.tools.readers.archives import opened
from deskwork.tools.readers.source import Source

_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
# The relationships' types that are spelt otherwise in the two forms.
_SPELT = (
    (b"relationships/extendedProperties", b"relationships/extended-properties"),
    (b"relationships/customProperties", b"relationships/custom-properties"),
    (b"2006/extendedProperties", b"2006/extended-properties"),
    (b"2006/customProperties", b"2006/custom-properties"),
)


def usual(source: Source) -> tuple[bytes, bool]:
    """The package in the usual (Transitional) form, and whether it was ISO Strict.

    Raises `BadFile` for a broken archive or a bomb.
    """
    with opened(source.data, source.name) as archive:
        if not _is_strict(archive):
            return source.data, False
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as rewritten:
            for entry in archive.infolist():
                part = archive.read(entry)
                if entry.filename.endswith((".xml", ".rels")):
                    part = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", part)
                    for strict, plain in _SPELT:
                        part = part.replace(strict, plain)
                rewritten.writestr(entry.filename, part)
    return buffer.getvalue(), True


def _is_strict(archive: zipfile.ZipFile) -> bool:
    try:
        with archive.open("_rels/.rels") as part:
            return b"purl.oclc.org/ooxml" in part.read(1 << 20)
    except KeyError:
        return False


def told_macros(source: Source) -> tuple[str, ...]:
    """A warning when the package holds macros."""
    with opened(source.data, source.name) as archive:
        if any(name.endswith("vbaProject.bin") for name in archive.namelist()):
            return ("The file holds macros; they were not run.",)
    return ()


def xml(data: bytes) -> Any:
    """The root of a part, with nothing expanded and nothing fetched."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True
    )
    return etree.fromstring(data, parser)
