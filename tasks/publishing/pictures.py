"""Pictures of the pages that evidence stands on, with its place marked, small enough to embed."""

from __future__ import annotations

import io

from PIL import Image

from deskwork.tools.collection import Collection
from deskwork.tools.errors import ToolError
from deskwork.tools.picture_evidence import cut_out
from deskwork.tools.tool import Evidence

MOST = 80
"""Pictures in one report, at most."""
_SIDE = 1000
_QUALITY = 62


class Pictures:
    """The pictures of one report; each is made once, for all its forms."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._made: dict[str, bytes | None] = {}

    def of(self, item: Evidence) -> bytes | None:
        """The page as JPEG with the quote marked; None where the page has no picture."""
        if item.id not in self._made:
            enough = sum(made is not None for made in self._made.values()) >= MOST
            self._made[item.id] = None if enough else self._make(item)
        return self._made[item.id]

    def _make(self, item: Evidence) -> bytes | None:
        try:
            if item.region:
                data = cut_out(self._collection, item.file, item.page, item.region)
            else:
                data = self._collection.picture(item.file, item.page, [item.quote])
            picture = Image.open(io.BytesIO(data)).convert("RGB")
        except (ToolError, OSError):
            return None
        picture.thumbnail((_SIDE, _SIDE))
        small = io.BytesIO()
        picture.save(small, "JPEG", quality=_QUALITY)
        return small.getvalue()
