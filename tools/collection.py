"""A job's documents: search them, read a page, look at it, and check a quote against it."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deskwork.tools import quotes
from deskwork.tools.documents import Box, Table
from deskwork.tools.errors import BadFile, NotFound, ToolError
from deskwork.tools.filings.accessions import accession_of
from deskwork.tools.indexing import entered
from deskwork.tools.layout import boxes_of, place_of, tables_of
from deskwork.tools.library_store import PAGES_PER_DOCUMENT, LibraryStore
from deskwork.tools.ranking import Ranked, rank, unknown_words
from deskwork.tools.readers import USUAL, Reading
from deskwork.tools.rows import Row, best_row, named_row
from deskwork.tools.snippets import snippet
from deskwork.tools.sources import Source, SourceFile
from deskwork.tools.tool import Evidence

__all__ = ["Collection", "Hit", "SourceFile", "StoredPage"]

_CELL = re.compile(r"(?:(?P<sheet>'[^']+'|[^!]+)!)?(?P<cell>\$?[A-Z]{1,3}\$?[1-9]\d{0,6})")
_WITH_CELLS = ("xlsx", "xlsm", "xlsb", "xls", "ods", "csv", "tsv")
_WITH_PICTURES = ("pdf", "image", "zip", "eml", "msg")


@dataclass(frozen=True)
class Hit:
    """A page that a search found. ``score`` falls from hit to hit; it has no unit.

    ``row`` is the row of a table on the page that answers the query best, if one does.
    """

    file: str
    page: int
    score: float
    snippet: str
    row: Row | None = None


@dataclass(frozen=True)
class StoredPage:
    """A page as it is stored; ``pages`` is how many the file has."""

    file: str
    number: int
    pages: int
    title: str
    text: str
    warnings: tuple[str, ...]
    sha256: str


class Collection:
    """The files of a job, in the order given, and behind them what was fetched.

    Nothing here ever changes: `with_source` gives a collection that has one source more.
    """

    def __init__(
        self, store: LibraryStore, files: Sequence[SourceFile], reading: Reading = USUAL
    ) -> None:
        self._store = store
        self._reading = reading
        self.files = tuple(files)
        self._by_name = {file.name: file for file in self.files}

    def fingerprint(self) -> list[tuple[str, str]]:
        """Name and SHA-256 of every file; the hash is "" where a file couldn't be opened."""
        return [(file.name, file.sha256) for file in self.files]

    def described(self, describe: Callable[[SourceFile], SourceFile]) -> Collection:
        """The same collection, with more known of its files."""
        return Collection(self._store, [describe(file) for file in self.files], self._reading)

    def only(self, name: str) -> Collection:
        """A collection of this file alone."""
        return Collection(self._store, [self.file(name)], self._reading)

    def with_source(self, source: Source, load: Callable[[], bytes]) -> Collection:
        """A collection that has this source as well, under the name that `name_for` gives.

        ``load`` gives its bytes: it is called where the library doesn't know them, and for
        pictures. What can't be read is an entry that failed, as with a file.
        """
        name = self.name_for(source)
        if name in self._by_name:
            return self
        entry = entered(self._store, self._reading, source.called(name), load)
        return Collection(self._store, [*self.files, entry], self._reading)

    def name_for(self, source: Source) -> str:
        """The source's own name, or that and its hash where another content bears it already."""
        taken = self._by_name.get(source.name)
        if taken is None or taken.sha256 == source.sha256:
            return source.name
        return f"{source.name}#{source.sha256[:8]}"

    def characters(self) -> int:
        """The length of the stored text of all files together."""
        documents = {file.document for file in self.files if file.state == "ready"}
        total = 0
        with self._store.connect() as connection:
            for document in documents:
                first = document * PAGES_PER_DOCUMENT
                (length,) = connection.execute(
                    "SELECT coalesce(sum(length(text)), 0) FROM pages WHERE id > ? AND id < ?",
                    (first, first + PAGES_PER_DOCUMENT),
                ).fetchone()
                total += length
        return total

    def file(self, name: str) -> SourceFile:
        """The entry under this name, or under a name that ends in it if that is the only one.

        Raises `NotFound` with the names there are, and `ToolError` for a file that failed.
        """
        found = self._by_name.get(name)
        if found is None:
            wanted = "/" + name.lower().strip("/")
            close = [file for file in self.files if ("/" + file.name.lower()).endswith(wanted)]
            if len(close) != 1:
                raise NotFound(f"There is no file {name!r} here.", self._names())
            found = close[0]
        if found.state == "failed":
            told = found.reason.startswith(found.name)
            raise ToolError(found.reason if told else f"{found.name}: {found.reason}")
        return found

    def _names(self) -> str:
        names = [file.name for file in self.files[:30]]
        more = len(self.files) - len(names)
        return "Files: " + ", ".join(names) + (f" and {more} more." if more else ".")

    def search(self, query: str, top: int = 8, file: str | None = None) -> list[Hit]:
        """The pages that answer the query best, best first; of one file if it is named.

        A query that is a cell's name (``B7``, ``Sheet1!B7``) finds that cell in the workbooks.
        """
        ready = [self.file(file)] if file else [f for f in self.files if f.state == "ready"]
        names: dict[int, str] = {}
        for entry in ready:
            names.setdefault(entry.document, entry.name)
        if cell := _CELL.fullmatch(query.strip()):
            return self._cells(ready, cell["sheet"] or "", cell["cell"].replace("$", ""))[:top]
        with self._store.connect() as connection:
            ranked = rank(connection, query, names)[: max(0, top)]
            return [self._hit(connection, page, names, query) for page in ranked]

    def unknown(self, query: str, file: str | None = None) -> list[str]:
        """The words of a query that stand nowhere in the documents."""
        ready = [self.file(file)] if file else [f for f in self.files if f.state == "ready"]
        with self._store.connect() as connection:
            return unknown_words(connection, query, sorted({entry.document for entry in ready}))

    def _hit(
        self, connection: sqlite3.Connection, page: Ranked, names: dict[int, str], query: str
    ) -> Hit:
        document, number = divmod(page.id, PAGES_PER_DOCUMENT)
        tables, _ = self._layout(connection, page.id)
        row = best_row(tables, query)
        shown = snippet(page.text, query)
        return Hit(names[document], number, round(page.score, 4), shown, row)

    def _cells(self, files: Sequence[SourceFile], sheet: str, cell: str) -> list[Hit]:
        """The sheets that hold something in a cell, in the order of files and sheets."""
        hits = []
        for entry in files:
            for number in range(1, entry.pages + 1) if entry.kind in _WITH_CELLS else ():
                title = self.page(entry.name, number).title
                if sheet and sheet.strip("'").casefold() != title.casefold():
                    continue
                if row := named_row(self.tables(entry.name, number), cell):
                    value = row.cells[0].value
                    hits.append(Hit(entry.name, number, 1.0, f"{row.label} | {value}", row))
        return hits

    def _layout(self, connection: sqlite3.Connection, page: int) -> tuple[list[Table], list[Box]]:
        row = connection.execute(
            "SELECT tables, boxes FROM layouts WHERE id = ?", (page,)
        ).fetchone()
        return (tables_of(row[0]), boxes_of(row[1])) if row else ([], [])

    def tables(self, file: str, number: int) -> list[Table]:
        """The tables of a page. Raises `NotFound` for a file or page that isn't there."""
        entry = self.file(file)
        _check_number(entry, number)
        with self._store.connect() as connection:
            return self._layout(connection, entry.document * PAGES_PER_DOCUMENT + number)[0]

    def page(self, file: str, number: int) -> StoredPage:
        """One page's stored text. Raises `NotFound` for a file or page that isn't there."""
        entry = self.file(file)
        _check_number(entry, number)
        with self._store.connect() as connection:
            row = connection.execute(
                "SELECT title, text, warnings FROM pages WHERE id = ?",
                (entry.document * PAGES_PER_DOCUMENT + number,),
            ).fetchone()
        if row is None:  # another process read the file again with newer readers
            raise ToolError(f"{entry.name} was indexed anew meanwhile.", "Start the job again.")
        return StoredPage(
            entry.name, number, entry.pages, row[0], row[1], tuple(json.loads(row[2])), entry.sha256
        )

    def picture(self, file: str, page: int, marks: Sequence[str] = ()) -> bytes:
        """The page as PNG bytes, longest side at most 1568 pixels. PDF pages and images have
        pictures, also inside a mail or a ZIP; on a PDF's the places of quotes can be marked.

        Raises `ToolError` for other kinds and for a file that changed since it was indexed.
        """
        entry = self.file(file)
        _check_number(entry, page)
        if entry.kind not in _WITH_PICTURES:
            raise ToolError(
                f"{entry.name} is a {entry.kind} file, whose pages have no picture.",
                "Use read_document for its text.",
            )
        try:
            data = entry.load() if entry.load else entry.path.read_bytes()
        except OSError as error:
            raise ToolError(f"{entry.name} can't be opened: {error.strerror or error}.") from None
        if hashlib.sha256(data).hexdigest() != (entry.container or entry.sha256):
            raise ToolError(f"{entry.name} has changed since it was indexed.")
        try:
            name = entry.path.name if entry.container else entry.name
            return self._reading.picture(data, name, entry.before + page, marks)
        except BadFile as error:
            raise ToolError(str(error)) from None

    def find_quote(
        self, file: str, page: int | None, quote: str, *, lines: bool = False
    ) -> Evidence:
        """The place where a quote stands, as evidence in the source's own words.

        With ``page`` the quote must stand there; without, anywhere in the file. With ``lines`` a
        short one will do that is a whole line. Raises `ToolError` when it is too short, stands on
        another page, or nowhere.
        """
        entry = self.file(file)
        if quotes.too_short(quote) and not (lines and self._is_line(entry, page, quote)):
            raise ToolError(
                "The quote is too short to be evidence.",
                "Quote at least 12 characters, or a passage with a figure.",
            )
        if page is not None:
            text = self.page(entry.name, page).text
            place = quotes.find(text, quote)
            if place:
                return self._evidence(entry, page, text, place)
        elsewhere = self._find_anywhere(entry, quote, skip=page)
        if elsewhere is None:
            raise ToolError(*self._not_found(entry, page, quote))
        number, text, place = elsewhere
        if page is not None:
            raise ToolError(
                f"The quote is not on page {page} of {entry.name}, but on page {number}.",
                f"Cite it with page {number}.",
            )
        return self._evidence(entry, number, text, place)

    def _is_line(self, entry: SourceFile, page: int | None, quote: str) -> bool:
        texts = self._texts(entry)
        return any(quotes.is_line(text, quote) for n, text in texts if page in (None, n))

    def _evidence(self, entry: SourceFile, page: int, text: str, place: quotes.Place) -> Evidence:
        """The id follows from source, page and folded quote: the same in every job."""
        key = f"{entry.sha256}\n{page}\n{place.folded}"
        with self._store.connect() as connection:
            at = entry.document * PAGES_PER_DOCUMENT + page
            tables, boxes = self._layout(connection, at)
            title = connection.execute("SELECT title FROM pages WHERE id = ?", (at,)).fetchone()
        where = place_of(text, place.start, place.end, title[0] if title else "", tables, boxes)
        quote = text[place.start : place.end]
        return Evidence(
            id="E" + hashlib.sha256(key.encode()).hexdigest()[:8],
            file=entry.name,
            page=page,
            quote=quote,
            sha256=entry.sha256,
            start=place.start,
            box=where.box,
            cell=where.cell,
            url=entry.url,
            retrieved=entry.retrieved,
            accession=accession_of(entry.url, quote if entry.kind == "json" else ""),
        )

    def _find_anywhere(
        self, entry: SourceFile, quote: str, skip: int | None
    ) -> tuple[int, str, quotes.Place] | None:
        for number, text in self._texts(entry):
            if number != skip and quotes.may_hold(text, quote):
                place = quotes.find(text, quote)
                if place:
                    return number, text, place
        return None

    def _texts(self, entry: SourceFile) -> list[tuple[int, str]]:
        first = entry.document * PAGES_PER_DOCUMENT
        with self._store.connect() as connection:
            rows = connection.execute(
                "SELECT id - ?, text FROM pages WHERE id > ? AND id < ? ORDER BY id",
                (first, first, first + PAGES_PER_DOCUMENT),
            )
            return [(number, text) for number, text in rows]

    def _not_found(self, entry: SourceFile, page: int | None, quote: str) -> tuple[str, str]:
        """The sentence for a quote that stands nowhere, and the passage it may have meant."""
        texts = self._texts(entry)
        if page is not None:
            texts = [(number, text) for number, text in texts if number == page]
        where = f"on page {page} of {entry.name}" if page else f"in {entry.name}"
        best_at, best = 0, ""
        wanted = set(quote.lower().split())
        for number, text in texts:
            passage = quotes.closest(text, quote)
            if len(wanted & set(passage.lower().split())) > len(wanted & set(best.lower().split())):
                best_at, best = number, passage
        if not best:
            return f"The quote is not {where}, and nothing there is like it.", ""
        return (
            f"The quote is not {where}. The closest passage is on page {best_at}: “{best}”.",
            "Quote the source word for word.",
        )


def _check_number(entry: SourceFile, number: int) -> None:
    if not 1 <= number <= entry.pages:
        raise NotFound(f"{entry.name} has no page {number}.", f"Its pages are 1 to {entry.pages}.")
