"""Finding the quotes of one file's records, however many there are.

A batch has thousands of quotes, often the same one. Each is looked for once; and when very many
are missing, the passage that each may have meant is not looked for any more, since that takes far
longer than to see that it isn't there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from deskwork.tasks.bearing import Notation
from deskwork.tools import quotes
from deskwork.tools.collection import Collection
from deskwork.tools.documents import Table
from deskwork.tools.errors import ToolError
from deskwork.tools.tool import Evidence

MISSES = 60
"""So many quotes that stand nowhere are told with the passage they may have meant."""


class Finder:
    """Quotes, notation, texts and tables of one file of a collection."""

    def __init__(self, collection: Collection, file: str) -> None:
        self._collection = collection
        self._file = file
        self._known: dict[tuple[int | None, str], Evidence | ToolError] = {}
        self._misses = 0
        self._folded: str | None = None
        self.notate = lru_cache(maxsize=64)(self._notate)
        self.look = lru_cache(maxsize=8)(self._look)

    def find(self, page: int | None, quote: str) -> Evidence:
        """The place of a quote: on the page, else anywhere in the file. Raises `ToolError`."""
        key = (page, quote)
        if key not in self._known:
            try:
                self._known[key] = self._found(page, quote)
            except ToolError as error:
                self._misses += 1
                self._known[key] = error
        known = self._known[key]
        if isinstance(known, ToolError):
            raise known
        return known

    def _found(self, page: int | None, quote: str) -> Evidence:
        if self._misses >= MISSES and not self._stands(quote):
            raise ToolError(f"The quote is not in {self._file}.")
        try:
            return self._collection.find_quote(self._file, page, quote, lines=True)
        except ToolError:
            if page is None:
                raise
            return self._collection.find_quote(self._file, None, quote, lines=True)

    def _stands(self, quote: str) -> bool:
        """Whether a quote may stand somewhere in the file, told from texts that are folded once."""
        if self._folded is None:
            pages = range(1, self._collection.file(self._file).pages + 1)
            texts = [self._collection.page(self._file, page).text for page in pages]
            forms = ("", "-") if any("\u00ad" in text for text in texts) else ("",)
            self._folded = "\n".join(
                quotes.fold(text, soft_hyphen=form).text for text in texts for form in forms
            )
        return quotes.fold(quote).text in self._folded

    def _notate(self, page: int) -> Notation:
        return Notation.of(self._collection.page(self._file, page).text)

    def _look(self, page: int) -> tuple[str, Sequence[Table]]:
        """Text and tables of a page."""
        text = self._collection.page(self._file, page).text
        return text, self._collection.tables(self._file, page)
