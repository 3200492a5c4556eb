"""The check of a report: every citation, every quotation and every number of every sentence.

A claim is a sentence that cites evidence or states a figure. It is supported when its evidence is
found again in the stored source, its quotations stand there word for word, and each of its numbers
is a figure of the job, a number of what it cites, or a change between two of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deskwork.tasks.claim_bound import FIGURE, bound_problems, source_of
from deskwork.tasks.claim_bounds import wrong_multiple
from deskwork.tasks.claim_computing import Source, other_length
from deskwork.tasks.claim_matching import Match, match, wrong_direction
from deskwork.tasks.claim_numbers import Stated, quoted, spans_of, stated_in
from deskwork.tasks.ledger import Ledger
from deskwork.tasks.sentences import Sentence, sentences_of
from deskwork.tools.arithmetic import value_of
from deskwork.tools.durations import meant, months_between
from deskwork.tools.figures import Figure, clean_label, figure_id
from deskwork.tools.printed import Printed, years_in

CITATION = re.compile(r"\[(E[0-9a-f]{8}(?:\s*[,;]\s*E[0-9a-f]{8})*)\]")
_NOTE = re.compile(r"\[\^(\w+)\](?!:)")
_NOTES = re.compile(r"(?m)^\[\^(\w+)\]:(.*)$")
_WORDS_SAID = 7
"""Words from which on what stands in quotation marks was said by somebody, and is no title."""
_ID = re.compile(r"E[0-9a-f]{8}")
_LOOKS_CITED = re.compile(r"\[(E[0-9A-Za-z]{1,16})\]")
CHART = re.compile(r"\{(C[0-9a-f]{8})\}")
_LOOKS_BOUND = re.compile(r"\{([FC](?:[0-9A-Za-z|\\]{1,24}|[0-9a-f]{8}[^{}\n]{1,24}))\}")


@dataclass(frozen=True)
class Claim:
    """A sentence. ``status``: supported, unsupported or corrected; ``problem`` says why not.

    ``figures`` are the ids of the figures it states; ``places`` tells where the numbers of its
    text stand that are none of its own: (start, end, figure's id).
    """

    text: str
    evidence: tuple[str, ...]
    status: str
    problem: str = ""
    figures: tuple[str, ...] = ()
    places: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Claim:
        """What ``asdict`` gave."""
        lists = {name: tuple(row.get(name, ())) for name in ("evidence", "figures")}
        places = tuple((start, end, name) for start, end, name in row.get("places", ()))
        return cls(**{**row, **lists, "places": places})


@dataclass(frozen=True)
class Checked:
    """A text's claims, and the figures they state: bound ones, and those found in their quotes."""

    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]

    @property
    def problems(self) -> list[str]:
        """What was found, as sentences for the model and for a person."""
        return [f'"{c.text}": {c.problem}' for c in self.claims if c.status == "unsupported"]


def check(
    text: str,
    ledger: Ledger,
    judge: Callable[[Claim], str] | None = None,
    corrected: Callable[[str], bool] | None = None,
) -> Checked:
    """Check every sentence of a Markdown text.

    ``judge`` may add a problem to a claim that stands so far (a second look). ``corrected`` tells
    a sentence that a person wrote, which isn't checked.
    """
    claims: list[Claim] = []
    figures: dict[str, Figure] = {}
    sentences = sentences_of(text)
    whole = _Whole(
        cited_in(text),
        " ".join(sentence.text for sentence in sentences if sentence.is_heading),
        dict(_NOTES.findall(text)),
    )
    for sentence in sentences:
        claim, stated = _claim(sentence, ledger, whole)
        if corrected and corrected(sentence.text):
            claim = claim or Claim(sentence.text, cited_in(sentence.text), "corrected")
            claim = replace(claim, status="corrected", problem="")
        if claim is None:
            continue
        if judge and claim.status == "supported" and (problem := judge(claim)):
            claim = replace(claim, status="unsupported", problem=problem)
        claims.append(claim)
        figures |= {figure.id: figure for figure in stated}
    return Checked(tuple(claims), tuple(figures.values()))


def cited_in(text: str) -> tuple[str, ...]:
    """The evidence ids that a text cites, each once."""
    return tuple(dict.fromkeys(name for m in CITATION.findall(text) for name in _ID.findall(m)))


@dataclass(frozen=True)
class _Whole:
    """What a text cites, which its headings may sum up, those headings, and its footnotes."""

    cited: tuple[str, ...]
    headings: str
    notes: Mapping[str, str]


def _claim(sentence: Sentence, ledger: Ledger, whole: _Whole) -> tuple[Claim | None, list[Figure]]:
    notes = " ".join(whole.notes.get(name, "") for name in _NOTE.findall(sentence.text))
    own = whole.cited if sentence.is_heading else cited_in(f"{sentence.text} {notes}")
    names = own or (cited_in(sentence.caption) if sentence.is_row else ())
    bound = [name for name, _ in FIGURE.findall(sentence.text)]
    known = [ledger.figures[name] for name in bound if name in ledger.figures]
    behind = tuple(dict.fromkeys([*names, *(e for figure in known for e in figure.evidence)]))
    known_ids = {*ledger.figures, *ledger.charts}
    odd = [
        f"[{name}] is no evidence of this job"
        for name in _LOOKS_CITED.findall(sentence.text)
        if name not in own
    ]
    odd += [
        f"{{{name}}} is no figure or chart of this job"
        for name in _LOOKS_BOUND.findall(sentence.text)
        if name.replace("\\", "").removesuffix("|abs") not in known_ids
    ]
    header = sentence.is_row and sentence.text == sentence.header
    scope = f"{sentence.header} {sentence.caption if sentence.is_row else ''} {sentence.heading}"
    months = meant(CITATION.sub("", sentence.text), scope, whole.headings)
    numbers = stated_in(sentence, ".", months)
    if header:  # what heads a column is no figure, unless it is said to be one
        numbers = [n for n in numbers if n.numeral.currency or n.numeral.percent]
    unsaid = _unsaid(sentence, behind)
    if not ((names and not sentence.is_heading) or bound or odd or numbers or unsaid):
        return None, []
    looked_up = () if sentence.is_heading else behind
    problems = odd + [problem for name in looked_up if (problem := ledger.problem(name))]
    problems += _misquoted(sentence, behind, ledger)
    problems += _misdated(sentence, [f for f in known if f.formula or not source_of(f, ledger)])
    problems += _of_other_lengths(known, months)
    problems += bound_problems(sentence, ledger, months, lambda t: CITATION.sub("", t))
    problems += _scaled_again(sentence.text)
    problems += unsaid
    if behind and not sentence.is_heading and (stranger := ledger.stranger(sentence.text, behind)):
        problems.append(f"it names {stranger}, and what it cites is from another company's file")
    if unheard := ledger.unheard_of(sentence.text):
        problems.append(f"it names {unheard}, and none of the sources does")
    stated = [*known, *_quoted_figures(sentence, behind, ledger)]
    places: list[tuple[int, int, str]] = []
    matched = _matches(numbers, behind, ledger, sentence.text, sentence.header)
    turned = wrong_direction([m for m, _ in matched], CITATION.sub("", sentence.text))
    if turned and not sentence.is_row:
        problems.append(turned)
    sources = [(name, p) for name in behind for p in ledger.printed(name)]
    if not sentence.is_row and (odd_multiple := wrong_multiple(sources, sentence.text)):
        problems.append(odd_multiple)
    for match_, number in matched:
        if match_.problem:
            problems.append(match_.problem if behind else _uncited(number))
        elif match_.printed:
            figure = _figure(match_, match_.printed, number)
            if ledger.evidence[match_.evidence].region:
                figure = replace(figure, status="pictured")
            stated.append(figure)
            places.append((number.numeral.start, number.numeral.end, figure.id))
    status = "unsupported" if problems else "supported"
    ids = tuple(dict.fromkeys(figure.id for figure in stated))
    joined = "; ".join(dict.fromkeys(problems))
    claim = Claim(sentence.text, names or behind, status, joined, ids, tuple(places))
    return claim, stated


def _uncited(number: Stated) -> str:
    return f"it states a figure (“{number.numeral.text}”) and cites nothing"


def _matches(
    numbers: list[Stated], names: tuple[str, ...], ledger: Ledger, text: str, header: str
) -> list[tuple[Match, Stated]]:
    sources: list[Source] = [(name, p) for name in names for p in ledger.printed(name)]
    plain = CITATION.sub("", f"{text} {header}")
    # "Additions to property, net of $35 and $46": a row's own name may hold numbers.
    names_of_rows = spans_of(text, {printed.label for _, printed in sources})
    own = [n for n in numbers if not any(a <= n.numeral.start < b for a, b in names_of_rows)]
    return [(match(number, sources, plain), number) for number in own]


def _misquoted(sentence: Sentence, names: tuple[str, ...], ledger: Ledger) -> list[str]:
    def stands(passage: str) -> bool:
        # Whoever said it may follow a quoted block: "— Annual report 2025".
        bare = re.sub(r"\s[—–-]{1,2}\s[^—–]{1,80}$", "", passage)
        return any(ledger.holds(name, part) for name in names for part in {passage, bare})

    return [
        f"“{passage[:80]}” does not stand in what it cites"
        for passage in quoted(sentence.text)
        if names and len(passage) > 12 and not stands(passage)
    ]


def _unsaid(sentence: Sentence, names: tuple[str, ...]) -> list[str]:
    """Quotations whose source the sentence doesn't tell."""
    if names or sentence.is_heading or sentence.text.startswith(">"):
        return []
    long = (p for p in quoted(sentence.text) if len(p.split()) >= _WORDS_SAID)
    return [f"it quotes “{passage[:60]}” and cites nothing" for passage in long]


def _quoted_figures(sentence: Sentence, names: tuple[str, ...], ledger: Ledger) -> list[Figure]:
    """The numbers of quoted rows whose label and year are known."""
    # Days, pages and notes that a quote holds are no figures there either.
    said = {
        number.numeral.text
        for passage in quoted(sentence.text)
        for number in stated_in(Sentence(passage))
    }
    return [
        _figure(Match(printed, name), printed, None)
        for name in names
        if said and ledger.problem(name) == ""
        for printed in ledger.printed(name)
        if printed.label and printed.years and printed.numeral.text in said
    ]


def _misdated(sentence: Sentence, figures: list[Figure]) -> list[str]:
    """Bound figures in a sentence that names other years alone."""
    years = set(years_in(FIGURE.sub("", sentence.text)))
    dated = [figure for figure in figures if figure.period_end[:4].isdigit()]
    # "to X in 2018, from Y": the other figures are of years that go without saying.
    if sentence.is_row or not years or any(_may_be_of(f.period_end) & years for f in dated):
        return []
    named = ", ".join(map(str, sorted(years)))
    return [
        f"{{{figure.id}}} is of {figure.period_end[:4]}, and the sentence is of {named}"
        for figure in dated
    ]


def _of_other_lengths(figures: list[Figure], months: frozenset[int]) -> list[str]:
    """Bound figures of a quarter in a sentence of years, and the like."""
    lengths = [(f, months_between(f.period_start, f.period_end)) for f in figures]
    told = [(f, other_length(length, months)) for f, length in lengths]
    return [f"{{{figure.id}}} {problem}" for figure, problem in told if problem]


def _may_be_of(period_end: str) -> set[int]:
    """The years that a period is called by: one that ends in winter may be the year before's."""
    year = int(period_end[:4])
    return {year, year - 1} if period_end[5:7] in ("01", "02") else {year}


def _scaled_again(text: str) -> list[str]:
    """Figures are printed with their own sign and scale: no other may stand beside them."""
    found = []
    for figure in FIGURE.finditer(text):
        behind, before = text[figure.end() :], text[: figure.start()]
        if re.match(r"\s*(?:thousand|million|billion|trillion|percent|%)", behind, re.I):
            found.append(f"{figure[0]} is printed with its scale, and another stands behind it")
        if re.search(r"(?:[-\u2212$€£]|\b(?:minus|negative)\s)$", before, re.I):
            found.append(f"{figure[0]} is printed with its sign, and another stands before it")
    return found


def _figure(found: Match, printed: Printed, number: Stated | None) -> Figure:
    """A number of the text as a figure: as its source prints it, or as computed from there."""
    numeral = printed.numeral
    told = number.years if number else ()
    year = next((y for y in told if y in printed.years), None)
    period = str(year or (printed.years[0] if printed.years else ""))
    if found.formula and number:
        value = number.numeral.readings[0]
        percent = number.numeral.percent
        key = f"{found.evidence}\n{found.formula}\n{value}"
        # "Fell 5%" states a size; the figure has the sign of what it is computed by.
        if (value_of(found.formula, {}) or value) < 0:
            value = -value
        scale = 0 if percent or number.scale is None else len(str(int(number.scale))) - 1
        return Figure(
            id=figure_id(key), label=_computed_label(printed.label, found.formula), value=value,
            unit="%" if percent else "money", scale=scale,
            currency="" if percent else printed.currency, period_end=period,
            status="derived", evidence=(found.evidence,), formula=found.formula,
        )  # fmt: skip
    value = -numeral.readings[0] if numeral.negative else numeral.readings[0]
    scale = len(str(int(printed.scale))) - 1 if printed.scale >= 1 else 0
    unit = "%" if numeral.percent else "money" if printed.currency else ""
    key = f"{found.evidence}\n{numeral.start}\n{value}\n{printed.label}\n{period}"
    return Figure(
        id=figure_id(key), label=clean_label(printed.label), value=value, unit=unit, scale=scale,
        currency=printed.currency, period_end=period, evidence=(found.evidence,),
    )  # fmt: skip


def _computed_label(label: str, formula: str) -> str:
    """What was computed of a row."""
    kinds = (("^", "growth a year"), (" - ", "change"), (" + ", "sum"), ("/", "ratio"))
    kind = next(name for sign, name in (*kinds, ("", "computed")) if sign in formula)
    return ", ".join(part for part in (clean_label(label), kind) if part)
