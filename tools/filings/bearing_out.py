"""Evidence for facts: each value's line in the stored document that is made of the facts' file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from deskwork.tools.collection import Collection, SourceFile
from deskwork.tools.errors import ToolError
from deskwork.tools.filings.facts import Vintage
from deskwork.tools.tool import Evidence


def bear_out(
    collection: Collection, file: str, vintages: Iterable[Vintage]
) -> dict[Vintage, Evidence]:
    """The evidence for each value whose line stands in the document, word for word."""
    left: dict[str, list[Vintage]] = {}
    for vintage in vintages:
        left.setdefault(vintage.line, []).append(vintage)
    found: dict[Vintage, Evidence] = {}
    for number in range(1, collection.file(file).pages + 1):
        if not left:
            break
        lines = collection.page(file, number).text.split("\n")
        for line in [line for line in lines if line in left]:
            evidence = collection.find_quote(file, number, line)
            found |= dict.fromkeys(left.pop(line, ()), evidence)
    return found


def bytes_of(entry: SourceFile) -> bytes:
    """A document's bytes. Raises `ToolError` where they can't be had or have changed."""
    if entry.container:
        raise ToolError(f"{entry.name} lies in an archive.", "Give it as a file of its own.")
    try:
        data = entry.load() if entry.load else entry.path.read_bytes()
    except OSError as error:
        raise ToolError(f"{entry.name} can't be opened: {error.strerror or error}.") from None
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise ToolError(f"{entry.name} has changed since it was indexed.", "Start the job again.")
    return data
