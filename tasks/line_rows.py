"""The lines of a record against the rows they were quoted from.

A value that stands in its quote may still stand in the wrong row: a description beside the amount
of its neighbour, one row taken for two lines, a row left out, a price taken for the amount.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from typing import Any

from deskwork.tasks import field_names as names
from deskwork.tasks.extracted import Found
from deskwork.tasks.reconcile import TOLERANCE, amount_of, flat, lists_in, number_in
from deskwork.tools.documents import Table
from deskwork.tools.tool import Evidence

Look = Callable[[int], tuple[str, Sequence[Table]]]
"""Text and tables of a page of the file."""

Place = tuple[int, int]
"""Page, and the number of a line of its text from 0."""

_LONG = 400
"""Characters of a line, at most, for it to be a row: a longer one is a paragraph."""
_MONEY = re.compile(r"\d[.,]\d\d\b(?!.*\d)")
_FIGURE = re.compile(r"\d")


def rows_quoted(items: Iterable[Found], look: Look) -> set[tuple[int, str]]:
    """(page, row) of every row that any value of these records was quoted from."""
    return {
        (evidence.page, _key(_line_of(evidence, look)[1]))
        for item in items
        for evidence in item.evidence.values()
    }


def line_problems(
    found: Found, look: Look, quoted: Set[tuple[int, str]] | None = None
) -> list[str]:
    """What is wrong with the lines of a record, as sentences that begin with a pointer.

    ``quoted`` are the rows of all records of the file (`rows_quoted`): a row may be a line of
    another list or another record.
    """
    quoted = rows_quoted([found], look) if quoted is None else quoted
    problems = [*_products(found.record)]
    for pointer, rows in _lists(found):
        if len(rows) == 1 and not any(rows.values()):
            continue
        problems += _mixed(found, pointer, rows, look)
        problems += _doubled(pointer, rows)
        problems += _left_out(pointer, rows, look, quoted)
    return problems


def _products(record: dict[str, Any]) -> Iterator[str]:
    """Lines whose quantity times unit price is not their amount."""
    for name, rows in lists_in(record):
        for number, row in enumerate(rows):
            line = flat(row)
            count, price = number_in(line, names.QUANTITY), number_in(line, names.PRICE)
            amount = number_in(line, names.LINE)
            if not (count and price and amount) or amount[0] == price[0]:
                continue
            if any(names.rank(field, names.EXTRA) >= 0 and line[field] for field in line):
                continue  # a discount or a surcharge of the line: how it counts, nobody says
            made = count[1] * price[1]
            taxes = [
                value
                for field, text in line.items()
                if names.rank(field, names.TAX) >= 0 and (value := amount_of(text)) is not None
            ]
            # A unit price is printed rounded: half a cent for each piece.
            most = TOLERANCE * 1.5 + abs(count[1]) * 0.005
            wanted = (abs(made), abs(made + sum(taxes)))
            if all(abs(abs(amount[1]) - value) > most for value in wanted):
                yield (
                    f"/{name.replace('.', '/')}/{number}: {count[0]} {count[1]:g} times {price[0]} "
                    f"{price[1]:,.2f} make {made:,.2f}, but {amount[0]} is {amount[1]:,.2f}"
                )


Rows = dict[int, dict[str, Evidence]]


def _lists(found: Found) -> Iterator[tuple[str, Rows]]:
    """(pointer, evidence by row and field) of every list of objects in a record."""
    lists: dict[str, Rows] = {}
    for pointer, evidence in found.evidence.items():
        match = re.match(r"(.*?)/(\d+)/(.+)$", pointer)
        if match:
            rows = lists.setdefault(match[1], {})
            rows.setdefault(int(match[2]), {})[match[3]] = evidence
    yield from lists.items()


def _line_of(evidence: Evidence, look: Look) -> tuple[Place, str]:
    """The place and the text of the row that a quote begins in."""
    text, _ = look(evidence.page)
    start = text.rfind("\n", 0, evidence.start) + 1
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)]
    return (evidence.page, text.count("\n", 0, start)), line


def _mixed(found: Found, pointer: str, rows: Rows, look: Look) -> Iterator[str]:
    """Lines whose fields were quoted from different rows of a table."""
    for number, fields in rows.items():
        kept: dict[Place, tuple[str, str]] = {}
        for field, evidence in fields.items():
            if "/" in field:
                continue  # of a list in the line, which has rows of its own
            place, line = _line_of(evidence, look)
            if "\n" not in evidence.quote and _is_row(evidence.page, line, look):
                kept.setdefault(place, (field, line))
        if len(kept) > 1:
            (first, one), (second, other) = list(kept.values())[:2]
            yield (
                f"{pointer}/{number}: {first} and {second} stand in different rows, "
                f"“{_short(one)}” and “{_short(other)}”"
            )


def _is_row(page: int, line: str, look: Look) -> bool:
    """Whether a line of a page is a whole row: one of a table with figures, or it ends in money."""
    if len(line) > _LONG or not _FIGURE.search(line):
        return False
    _, tables = look(page)
    key = _key(line)
    rows = (row for table in tables for row in table.rows if sum(map(bool, row)) > 2)
    return bool(_MONEY.search(line)) or any(_key("".join(row)) == key for row in rows)


def _doubled(pointer: str, rows: Rows) -> Iterator[str]:
    """Lines that were quoted from the very same place."""
    seen: dict[frozenset[tuple[str, int, int]], list[int]] = {}
    for number, fields in rows.items():
        spots = frozenset((f, e.page, e.start) for f, e in fields.items())
        if spots:
            seen.setdefault(spots, []).append(number)
    for spots, numbers in seen.items():
        if len(numbers) > 1:
            fields = rows[numbers[0]]
            quote = fields[min(field for field, _, _ in spots)].quote
            listed = ", ".join(f"{n}" for n in numbers[1:6]) + (", ..." if len(numbers) > 6 else "")
            yield (
                f"{pointer}/{numbers[0]}: quoted from the same place as {pointer}/{listed}: "
                f"“{_short(quote)}”"
            )


def _left_out(pointer: str, rows: Rows, look: Look, quoted: Set[tuple[int, str]]) -> Iterator[str]:
    """Rows of a table that the lines were quoted from, and that no line is."""
    used: dict[int, set[str]] = {}
    for fields in rows.values():
        for evidence in fields.values():
            used.setdefault(evidence.page, set()).add(_key(_line_of(evidence, look)[1]))
    for page, keys in used.items():
        _, tables = look(page)
        for table in tables:
            body = [(_key("".join(row)), row) for row in table.rows]
            taken = [at for at, (key, _) in enumerate(body) if key in keys]
            if not taken or len(table.rows[taken[0]]) < 2:
                continue
            filled = min(sum(map(bool, table.rows[at])) for at in taken)
            missing = [
                row
                for at, (key, row) in enumerate(body)
                if (page, key) not in quoted and at > 0 and _is_line(row, filled)
            ]
            if missing:
                shown = "; ".join(f"“{_short(' | '.join(row))}”" for row in missing[:3])
                more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
                yield (
                    f"{pointer}: {len(missing)} of the rows of the table on page {page} "
                    f"{'is' if len(missing) == 1 else 'are'} left out: {shown}{more}"
                )


def _is_line(row: Sequence[str], filled: int) -> bool:
    """Whether a row is a line like those that were taken: as full, with figures, and no sum."""
    words = " ".join(row)
    full = sum(1 for cell in row if cell.strip()) >= max(2, filled)
    return full and bool(_FIGURE.search(words)) and not names.NO_LINE.search(_first_words(row))


def _first_words(row: Sequence[str]) -> str:
    """The cells of a row that are words: a sum is named in one, wherever it stands."""
    return " ".join(cell for cell in row if not re.fullmatch(r"[\W\d]*", cell))


@lru_cache(maxsize=16_384)
def _key(line: str) -> str:
    return "".join(letter for letter in line if letter.isalnum() or letter in "+-").casefold()


def _short(text: str) -> str:
    flat_text = " ".join(text.replace("|", " ").split())
    return flat_text if len(flat_text) <= 80 else flat_text[:77] + "..."


def joined(problems: Iterable[str], most: int = 50) -> list[str]:
    """Problems of which there may be hundreds: the first of them, and how many more."""
    found = list(problems)
    if len(found) <= most:
        return found
    return [*found[:most], f"/: and {len(found) - most} more problems of this kind"]
