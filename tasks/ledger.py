"""What a report may state: the evidence and the figures of a job, and what their sources print."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise

from deskwork.tools import quotes
from deskwork.tools.charts.chart import Chart
from deskwork.tools.collection import Collection
from deskwork.tools.errors import ToolError
from deskwork.tools.figures import Figure
from deskwork.tools.printed import Printed, printed_in
from deskwork.tools.tool import Evidence

_COMMON = """pdf docx xlsx htm html csv txt annual report quarterly earnings release results form
dated fy the inc corp company group plc ltd statement statements filing filings full year interim
segments quarter memo data table file document q1 q2 q3 q4"""
_NO_NAME = frozenset(_COMMON.split())
_PERIOD_OR_FORM = re.compile(r"(?:fy|q|h)?\d+(?:q\d?|[kq])?|\d*[kqf]")
_COMPANY = re.compile(
    r"(?P<name>\b[A-Z][\w&-]*(?:\s+[A-Z&][\w&-]*){0,3}),?\s+"
    r"(?:Inc|Corp|Corporation|Ltd|Limited|[Pp][Ll][Cc]|AG|GmbH|LLC|KGaA|SpA|Oyj|ASA|N\.V|S\.A)\b\.?"
)


@dataclass
class Ledger:
    """The evidence, the figures and the charts of a job by their ids, over its documents.

    ``corrected`` are numbers that a person put right: (evidence, amount there, right amount). A
    report may state both.
    """

    collection: Collection
    evidence: Mapping[str, Evidence]
    figures: Mapping[str, Figure] = field(default_factory=dict)
    charts: Mapping[str, Chart] = field(default_factory=dict)
    corrected: Sequence[tuple[str, Decimal, Decimal]] = ()
    _printed: dict[str, list[Printed]] = field(default_factory=dict)
    _problems: dict[str, str] = field(default_factory=dict)

    def problem(self, name: str) -> str:
        """Why a citation doesn't stand, after a look at its source; "" if it does."""
        if name not in self._problems:
            self._problems[name] = self._problem(name)
        return self._problems[name]

    def _problem(self, name: str) -> str:
        if name not in self.evidence:
            return f"[{name}] is no evidence of this job"
        item = self.evidence[name]
        if item.region:
            return self._seen(item)
        try:
            found = self.collection.find_quote(item.file, item.page, item.quote)
        except ToolError as error:
            return f"the quote of [{name}] is not found again: {error}"
        return "" if found.id == name else f"the quote of [{name}] stands elsewhere now"

    def _seen(self, item: Evidence) -> str:
        """Code can't read a picture; that it is still the same one can be told."""
        try:
            same = self.collection.file(item.file).sha256 == item.sha256
        except ToolError as error:
            return f"the picture of [{item.id}] is not found again: {error}"
        return "" if same else f"the picture of [{item.id}] is of another version of its file"

    def printed(self, name: str) -> Sequence[Printed]:
        """The numbers of an evidence's quote, with scale, currency and years."""
        if name not in self._printed:
            printed = self._read(name)
            for evidence, before, after in self.corrected:
                if evidence == name:
                    printed += [_as(one, after) for one in printed if one.value == before]
            self._printed[name] = printed
        return self._printed[name]

    def _read(self, name: str) -> list[Printed]:
        item = self.evidence.get(name)
        if item is None:
            return []
        if item.region:
            return printed_in(item.quote, item.quote, 0, ())
        try:
            text = self.collection.page(item.file, item.page).text
            tables = self.collection.tables(item.file, item.page)
        except ToolError:
            return printed_in(item.quote, item.quote, 0, ())
        return printed_in(item.quote, text, item.start, tables)

    def holds(self, name: str, passage: str) -> bool:
        """Whether a passage stands word for word in an evidence's quote or on its page."""
        item = self.evidence.get(name)
        if item is None:
            return False
        # “[Best Buy] generated”: what stands in brackets is not the source's.
        parts = re.split(r"\s*(?:…|\.\.\.|\[[^\]]*\])\s*", passage)
        parts = [part.strip().rstrip(",;") for part in parts]
        return all(quotes.find(item.quote, part) for part in parts if part)

    def stranger(self, sentence: str, names: Sequence[str]) -> str:
        """A company that the sentence names and that isn't its sources', or ""."""
        cited = {self.evidence[name].file for name in names if name in self.evidence}
        words = [word.casefold() for word in re.findall(r"[A-Za-z0-9&]{2,}", sentence)]
        spoken = {*words, *(a + b for a, b in pairwise(words))}  # Best Buy in bestbuy_10k.pdf
        tokens = self._names()
        own = {token for file in cited for token in tokens.get(file, ())}
        if any(_names(token, spoken) for token in own):
            return ""
        others = {token for their in tokens.values() for token in their} - own
        return min((token for token in others if _names(token, spoken)), default="")

    def unheard_of(self, sentence: str) -> str:
        """A company, told by its legal form, that stands in no source at all, or ""."""
        quoted = " ".join([item.quote for item in self.evidence.values()])
        named = " ".join(file.name for file in self.collection.files)
        said = f"{quoted} {named}".casefold()
        for match in _COMPANY.finditer(sentence):
            words = match["name"].split()
            if words[1:] and not re.search(r"\w", sentence[: match.start()]):
                words = words[1:]  # "Meanwhile Acme Inc. grew"
            if any(word not in said for word in self.collection.unknown(" ".join(words))):
                return " ".join(match[0].split())
        return ""

    def _names(self) -> dict[str, set[str]]:
        """The words of each file's name that may be a company's, and aren't those of every file."""
        tokens: dict[str, set[str]] = {}
        for file in self.collection.files:
            stem = file.name.rpartition("/")[2].rpartition(".")[0]
            words = {word.casefold() for word in re.split(r"[^A-Za-z0-9&]+", stem)}
            tokens[file.name] = {
                word
                for word in words - _NO_NAME
                if len(word) > 1 and not _PERIOD_OR_FORM.fullmatch(word)
            }
        return tokens


def _as(printed: Printed, amount: Decimal) -> Printed:
    """A number as it should be printed where it stands."""
    value = amount / printed.scale
    said = f"{abs(value):,f}"
    numeral = replace(printed.numeral, text=said, readings=(abs(value),), negative=value < 0)
    return replace(printed, numeral=numeral)


def _names(token: str, spoken: set[str]) -> bool:
    """Whether a sentence's words name what a file's name does, whole or by its beginning."""
    return token in spoken or any(len(word) > 4 and token.startswith(word) for word in spoken)
