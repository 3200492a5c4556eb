"""Evidence from pictures: what a model reads off a chart or a scan, with the cut-out it read."""

from __future__ import annotations

import hashlib
import io
from typing import Annotated

from pydantic import Field

from deskwork.tools.collection import Collection
from deskwork.tools.errors import ToolError
from deskwork.tools.pictures import fit
from deskwork.tools.tool import Desk, Evidence, Region, ToolResult, tool

_LEAST = 0.004
"""The smallest part of a page's area that can be cut out."""
_ROOM = 0.01
"""Shown around a cut-out, as a share of the page."""

Share = Annotated[float, Field(ge=0, le=1)]


def cut_out(collection: Collection, file: str, page: int, region: Region) -> bytes:
    """The part of a page's picture, as PNG. Raises `ToolError` for a page without a picture."""
    from PIL import Image

    whole = Image.open(io.BytesIO(collection.picture(file, page))).convert("RGB")
    left, top, right, bottom = region
    box = (
        int(max(0.0, left - _ROOM) * whole.width),
        int(max(0.0, top - _ROOM) * whole.height),
        int(min(1.0, right + _ROOM) * whole.width),
        int(min(1.0, bottom + _ROOM) * whole.height),
    )
    out = io.BytesIO()
    whole.crop(box).save(out, "PNG")
    return out.getvalue()


@tool(repeatable=True)
def cite_picture(
    file: Annotated[str, Field(description="The file's name as list_documents gives it.")],
    page: Annotated[int, Field(description="The page, from 1.")],
    text: Annotated[
        str,
        Field(
            description="What you read there: label, number, unit, period; figures as printed.",
            min_length=3,
            max_length=500,
        ),
    ],
    left: Annotated[Share, Field(description="Of the page's width, from 0 to 1.")],
    top: Annotated[Share, Field(description="Of the page's height, from its top.")],
    right: Share,
    bottom: Share,
    desk: Desk,
) -> ToolResult:
    """Make evidence of what a page's picture shows where its text doesn't: a chart, a scan.

    The result shows the cut-out, so that you can see whether it bears out what you read; call it
    again with another place if it doesn't. Reports label such figures as read from a picture and
    show the cut-out. Where the page's text has the words, use cite.
    """
    if right <= left or bottom <= top or (right - left) * (bottom - top) < _LEAST:
        raise ToolError(
            "The place is empty or too small.", "Give left < right and top < bottom, from 0 to 1."
        )
    entry = desk.collection.file(file)
    region = (left, top, right, bottom)
    picture = cut_out(desk.collection, file, page, region)
    said = " ".join(text.split())
    key = f"{entry.sha256}\n{page}\n{region}\n{said}"
    evidence = Evidence(
        id="E" + hashlib.sha256(key.encode()).hexdigest()[:8],
        file=entry.name,
        page=page,
        quote=said,
        sha256=entry.sha256,
        start=-1,
        url=entry.url,
        retrieved=entry.retrieved,
        region=region,
    )
    told = (
        f"{evidence.id} · {entry.name} · page {page}, read from its picture\n“{said}”\n"
        "The cut-out is shown. Does it say that? If not, cite another place. "
        f"Write [{evidence.id}] after each statement that rests on it."
    )
    return ToolResult(told, images=(fit(picture).data,), evidence=(evidence,))
