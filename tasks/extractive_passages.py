"""The passages of a page that can be quoted: sentences, and rows of tables with their columns."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FIGURE = (
    r"(?:\(?[-–—−+]?[$€£¥]?\s?\(?\d[\d,]*(?:\.\d+)?\)?\s?%?\)?(?:pts|x|bps)?"
    r"|[-–—]|[$€£¥%]|N/?M|n/?a)"
)
_ROW = re.compile(rf"^(?P<label>.*?)[\s|]*(?P<figures>(?:(?<![\w.,]){_FIGURE}[\s|]*)+)$")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_DATE_WORDS = re.compile(
    r"(?i)\b(january|february|march|april|may|june|july|august|september|october|november|"
    r"december)\s+\d{1,2}\b,?|\bq[1-4]\b|\b\d{1,2}\b(?=\s*(?:weeks|months))"
)
_DATES_ALONE = re.compile(
    r"(?i)(?:(?:january|february|march|april|may|june|july|august|september|october|november|"
    r"december)\s+\d{1,2},?|(?:19|20)\d\d|,|\s|and|(?:fiscal )?years? ended|as of|at)+"
)
_ABBREVIATED = re.compile(
    r"\b(?:Inc|Corp|Co|Ltd|No|Mr|Ms|Mrs|Dr|St|vs|approx|Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec|"
    r"[A-Z]|e\.g|i\.e|U\.S)\.$"
)
_END = re.compile(r"[.!?][”\"’)]?\s+(?=[A-Z“\"(0-9•])")
_PROSE = re.compile(r"[.;?!] [A-Z]|\b(?:was|were|is|are|has|have|which|that|our|we|compared)\b")
_LONGEST = 700


@dataclass(frozen=True)
class Passage:
    """Words of a page. A row of a table has ``figures``, and ``columns``, the head above it.

    ``label`` is a row's name, or the whole sentence; ``heading`` is what it stands under;
    ``opens`` is True for the first sentence of a paragraph.
    """

    file: str
    page: int
    text: str
    label: str
    figures: int = 0
    columns: str = ""
    heading: str = ""
    opens: bool = False

    @property
    def is_row(self) -> bool:
        """True for a row of a table."""
        return self.figures > 0


def passages_of(file: str, page: int, text: str) -> list[Passage]:
    """The passages of one page, from top to bottom."""
    passages: list[Passage] = []
    prose: list[str] = []
    dates: list[str] = []
    heading = columns = ""

    def flush() -> None:
        for opens, sentence in _sentences(" ".join(prose)):
            passages.append(Passage(file, page, sentence, sentence, heading=heading, opens=opens))
        prose.clear()

    lines = [line for line in map(_plain, text.split("\n")) if line]
    widest = max(map(len, lines), default=0)
    for at, line in enumerate(lines):
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if _DATES_ALONE.fullmatch(line):
            # Dates of columns may stand on lines of their own.
            flush()
            dates.append(line)
            if len(_YEAR.findall(" ".join(dates))) > 1:
                columns = " ".join(dates)
            continue
        dates.clear()
        if _is_columns(line):
            flush()
            columns = line
        elif row := _row(line):
            label, figures = row
            before = prose[-1] if prose else ""
            # A long label is broken; its figures stand on its last line.
            if _continues(before, label):
                joined = [prose.pop(), line]
                label = f"{joined[0]} {label}".strip()
                line = " ".join(joined)
            flush()
            if re.search(r"[A-Za-z]{2}", label):
                passages.append(Passage(file, page, line, label, figures, columns, heading))
        elif line.startswith("#") or _is_heading(line, following):
            flush()
            heading = line.lstrip("# ")
            if line.startswith("#"):
                columns = ""
        else:
            if line.startswith(("- ", "• ", "● ")):
                flush()
                line = line[2:].strip()
            prose.append(line)
            if len(line) < 0.9 * widest and re.search(r"[.!?][”\"’)]?$", line):
                flush()
    flush()
    return passages


def _plain(line: str) -> str:
    return " ".join(line.strip().strip("|").split())


def _row(line: str) -> tuple[str, int] | None:
    """A row's label and how many figures it has, or None."""
    if len(line) > 260 or line.endswith((",", ";")) or not (match := _ROW.match(line)):
        return None
    numbers = re.findall(r"\d[\d,.]*", match["figures"])
    figures = len(numbers)
    label = match["label"].strip(" |.…·")
    if all(_YEAR.fullmatch(number) for number in numbers) or _PROSE.search(label):
        return None
    if not figures or (figures < 2 and (len(label.split()) > 9 or len(label) < 3)):
        return None
    page_number = figures == 1 and "|" not in line and re.search(r"\s\d{1,3}$", line)
    if page_number or label.endswith((",", "•")):
        return None
    return label, figures


def _is_columns(line: str) -> bool:
    """A table's head: years or dates, and no other figures."""
    if len(line) > 200 or line.endswith("."):
        return False
    years = _YEAR.findall(line)
    cells = line.count("|")
    rest = _YEAR.sub(" ", _DATE_WORDS.sub(" ", line))
    if re.search(r"\d", rest):
        return False
    if cells >= 2 and not re.search(r"\d", _YEAR.sub(" ", rest)):
        return True
    return len(years) >= 2 and len(rest.split()) <= 14


def _continues(before: str, label: str) -> bool:
    if not before or before.endswith((".", ":", ";", "?")) or len(before) > 130:
        return False
    return not label or label[0].islower() or label[0] in "(-–—"


def _is_heading(line: str, following: str) -> bool:
    return (
        len(line) < 80
        and not line.endswith((".", ",", ";", "-"))
        and not (line.endswith(":") and _PROSE.search(line))
        and not line[0].islower()
        and not line.startswith(("- ", "• ", "● "))
        and bool(following)
        and not re.match(r"[a-z(\d$]", following)
        and len(line.split()) <= 10
    )


def _sentences(text: str) -> list[tuple[bool, str]]:
    """The whole sentences of a paragraph; the first of them is told."""
    parts, start = [], 0
    for match in _END.finditer(text):
        if _ABBREVIATED.search(text[start : match.start() + 1]):
            continue
        parts.append(text[start : match.end()].strip())
        start = match.end()
    parts.append(text[start:].strip())
    return [
        (number == 0, part)
        for number, part in enumerate(parts)
        if 25 <= len(part) <= _LONGEST and _is_sentence(part)
    ]


def _is_sentence(part: str) -> bool:
    """Whole sentences only: a fragment says little, and says it badly."""
    words = re.findall(r"[A-Za-z]+", part)
    return (
        len(words) >= 5
        and (part[0].isupper() or part[0].isdigit() or part[0] in '“"(‘$')
        and part.rstrip('”"’)')[-1:] in (".", "!", "?", ";", ":")
        and not (part.endswith(":") and len(words) < 8)
    )
