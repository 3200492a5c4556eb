"""The numbers of a report's sentence that must lead back to a source, with what it says of them.

Left out are those that state no figure: dates and years, pages, notes, items and forms, ordinals,
lengths of a period, and numbers that are part of a name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from deskwork.tasks.claim_years import cells_of, years_named, years_of
from deskwork.tasks.sentences import Sentence, quotes_in
from deskwork.tools.columns import YEAR
from deskwork.tools.number_words import number_words
from deskwork.tools.numerals import Numeral, numerals
from deskwork.tools.printed import UNSCALED, currency_in, is_year, scale_in

_MONTH = (
    r"(?:Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?\.?|July?\.?"
    r"|Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)"
)
_HARMLESS = re.compile(
    rf"{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}})?|\b\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}"
    r"\b(?:,?\s+\d{4})?|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}:\d\d\b"
    r"|\b(?:pages?|pp?\.|notes?|items?|sections?|parts?|chapters?|tables?|figures?|exhibits?|steps?"
    r"|questions?|investigations?|appendix|level|tier|phase|no\.|number|version|rule|article|asc"
    r"|asu|ifrs|ias|topic|form|schedule)\s*#?\s*\d+(?:[.\-–]\d+)*(?:\s*(?:,|and|to|or|[-–])\s*\d+)*"
    r"|\b(?:10|8|6|20|40|11)-[KQF](?:/A)?\b|\b[SNF]-\d\b|\bDEF\s?14A\b|\b401\(k\)"
    r"|\b(?:Q|H|FY|CY)\s?\d{1,4}\b|\b[1-4]Q(?:\d\d)?\b|\bFY?'?\d\d\b|\b\d+(?:st|nd|rd|th)\b"
    r"|\b\d{1,3}[- ](?:week|month|day|year|quarter)s?\b(?! ago)"
    r"|\b(?:week|month|day|year)s?\s\d{1,2}\b"
    r"|\b(?:the\s)?(?:19|20)\d0s\b|\b(?:19|20)\d\d\s?[-–/]\s?(?:19|20)?\d\d\b|^\s*\d{1,2}[.)]\s"
    r"|\b\d{1,2} (?:out )?of (?:the |its )?(?:last |past |previous )?\d{1,2} (?:years"
    r"|quarters|months|weeks)\b"
    r"|(?<!\S)[“\"(]?[\w.-]*[A-Za-z_][\w.-]*\.(?:pdf|json|docx?|xlsx?|csv|html?|md|txt|pptx|eml|zip)\b"
    r"|\[\^?\w{1,3}\]:?|\(\d{1,2}\)(?=\s)|https?://\S+|[‘'’]\d\d\b(?!\s?%)|\b(?:19|20)\d\d-\d\d\b",
    re.I,
)
_CITED = re.compile(r"\[E[0-9a-fA-F][^\]]*\]|\]\([^)]*\)|\{[FC][0-9a-f]{8}[^}]*\}")
_SCALED = re.compile(r"[,.]?\d*\s*(?:%|percent|thousand|million|billion|trillion|bn\b|mn\b)", re.I)
_BASIS_POINTS = re.compile(r"(?i)\s*(?:basis points?|bps?)\b")
_UNIT = re.compile(
    r"(?i)\([^()]*\b(?:thousands|millions|billions)\b[^()]*\)"
    r"|, in (?:US )?[$€£]? ?(?:thousands|millions|billions)\b"
)
_JOINED = re.compile(r"(?i)[\s,]*(?:and|or|to|versus|vs\.?|from|[-–])?[\s,]*[$€£¥]?\s*")


@dataclass(frozen=True)
class Stated:
    """A number of a sentence: ``scale`` is a factor, or None where the sentence tells none.

    ``years`` are those it may be of, as the sentence says; empty where it says nothing. ``months``
    are the lengths of period that it may be of, likewise. ``points`` tells of basis points, and
    ``lead`` is what stands right before it.
    """

    numeral: Numeral
    scale: Decimal | None
    currency: str
    years: tuple[int, ...] = ()
    points: bool = False
    months: frozenset[int] = frozenset()
    lead: str = ""

    @property
    def digits(self) -> int:
        """Digits behind the point, as printed."""
        exponent = self.numeral.readings[0].as_tuple().exponent
        return max(0, -exponent) if isinstance(exponent, int) else 0


def stated_in(
    sentence: Sentence, decimal: str = "", months: frozenset[int] = frozenset()
) -> list[Stated]:
    """The numbers of a sentence that state a figure, outside of its quotes.

    ``months`` are the lengths of period that the sentence speaks of.
    """
    text = _blanked(sentence.text, cited=bool(_CITED.search(sentence.text)))
    found = [n for n in numerals(text, decimal) if not is_year(n) and not _in_name(text, n)]
    # "$32 765 million" is one number, what its parts might be beside.
    whole = [n for n in found if " " in n.text and (n.currency or n.scale != 1 or n.percent)]
    found = [n for n in found if not any(w.start <= n.start < w.end and n is not w for w in whole)]
    scope = f"{sentence.caption} {sentence.header} {sentence.heading}"
    if sentence.is_row and cells_of(sentence.text):
        scope = f"{cells_of(sentence.text)[0]} {scope}"  # "Net sales ($ millions)"
    out = []
    for index, numeral in enumerate(found):
        scale: Decimal | None = numeral.scale if numeral.scale != 1 else None
        if scale is None and not numeral.percent:
            scale = _shared_scale(text, found[index:])
        a_count = sentence.is_row and UNSCALED.search(cells_of(sentence.text)[0])
        if scale is None and not (numeral.percent or a_count) and (sentence.is_row or "(" in scope):
            scale = scale_in(scope)
        if scale is None and not numeral.percent and (told := _UNIT.search(text)):
            scale = scale_in(told[0])
        currency = numeral.currency
        if not currency and sentence.is_row and not numeral.percent:
            currency = currency_in(scope)
        years = years_of(sentence, text, found, index, months)
        points = bool(_BASIS_POINTS.match(text[numeral.end :]))
        lead = text[max(0, numeral.start - 80) : numeral.start]
        out.append(Stated(numeral, scale, currency, years, points, months, lead))
    for start, end, value, percent in number_words(text):
        numeral = Numeral(text[start:end], start, end, (value,), False, percent)
        scale = None if percent else Decimal(1)
        out.append(
            Stated(numeral, scale, "", tuple(dict.fromkeys(years_named(text))), months=months)
        )
    return out


def _blanked(text: str, *, cited: bool) -> str:
    """The text with everything harmless replaced by as many blanks, and quotes that are cited."""
    spans = [match.span() for match in _CITED.finditer(text)]
    # "Part 9,900 million" names no part.
    spans += [m.span() for m in _HARMLESS.finditer(text) if not _SCALED.match(text[m.end() :])]
    spans += quotes_in(text) if cited else []
    letters = list(text)
    for start, end in spans:
        kept = {m.start() + k for m in YEAR.finditer(text[start:end]) for k in range(len(m[0]))}
        for at in range(start, end):
            # A year in a date still tells of when a figure is.
            if at - start not in kept or (start, end) in quotes_in(text):
                letters[at] = " "
    return "".join(letters)


def _in_name(text: str, numeral: Numeral) -> bool:
    """Whether a number is a part of a word, such as 3M, COVID-19 or MI300X."""
    before, after = text[: numeral.start], text[numeral.end :]
    if re.search(r"[A-Za-z]-?$", before) and not re.search(r"(?:US|[A-Z]{3})$", before):
        return True
    if not re.match(r"[A-Za-z]", after) or numeral.scale != 1 or numeral.percent:
        return False
    return not re.match(r"(?:x|bps?|pp|pts?|k|m|bn|b|mm)\b", after)


def _shared_scale(text: str, following: Sequence[Numeral]) -> Decimal | None:
    """The scale behind the last number of a list: $1.2, $1.3 and $1.4 billion."""
    for number, after in itertools.pairwise(following):
        between = text[number.end : after.start]
        if number.percent or not _JOINED.fullmatch(between):
            return None
        if after.scale != 1:
            return after.scale
    return None


def spans_of(text: str, labels: Collection[str]) -> list[tuple[int, int]]:
    """Where labels that hold numbers stand in a text, whatever case and signs they are in."""
    places = [at for at, letter in enumerate(text) if letter.isalnum()]
    letters = "".join(text[at].lower()[:1] for at in places)
    found = []
    for label in labels:
        wanted = "".join(letter.lower()[:1] for letter in label if letter.isalnum())
        # A name begins with words: a year or a number alone is none.
        if not re.search(r"\d", wanted) or len(re.findall(r"[A-Za-z]{3,}", label)) < 2:
            continue
        start = letters.find(wanted)
        if start >= 0:
            found.append((places[start], places[start + len(wanted) - 1] + 1))
    return found


def quoted(text: str) -> Iterator[str]:
    """The quotes in a sentence, without their marks."""
    for start, end in quotes_in(text):
        yield re.sub(r"(?:^|\s)>\s", " ", text[start + 1 : end - 1]).strip()
