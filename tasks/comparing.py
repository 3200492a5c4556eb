"""What has changed between two reports: claims and figures that are new, changed or gone.

A figure is the same thing in both when its label, period, unit and company (or file) are; where its
amount or its vintage differs, it is restated. A claim is the same when its words are, and changed
when it says the same with other numbers or much the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TypeVar

from deskwork.tasks.changes import Changes, ClaimChange, FigureChange
from deskwork.tasks.claims import Claim
from deskwork.tasks.printing import print_figures
from deskwork.tasks.report import Report
from deskwork.tasks.reviews import plain
from deskwork.tools.figures import Figure

ALIKE = 0.75
"""Claims that share so much of their words are one claim, changed."""
_NUMBER = re.compile(r"\d[\d.,]*")
_CIK = re.compile(r"(?:/data/|CIK)0*(\d{1,10})\b")
_NO_NAME = re.compile(
    r"\d+|fy|q[1-4]|[hk]|form|annual|quarterly|report|results?|filing|earnings|final|v|rev"
)
Item = TypeVar("Item")


def changes_between(before: Report, after: Report, since: str) -> Changes:
    """What ``after`` says otherwise than ``before``."""
    new, changed, gone = _claims(_said(before), _said(after))
    figures = _figures(before, after)
    return Changes(
        since,
        before.job,
        tuple(ClaimChange("", text, claim.evidence) for text, claim in new),
        tuple(ClaimChange(old[0], text, claim.evidence) for old, (text, claim) in changed),
        tuple(ClaimChange(text, "") for text, _ in gone),
        *figures,
    )


def _said(report: Report) -> list[tuple[str, Claim]]:
    """Each claim once, as it is printed, without its citations and its place in the text."""
    figures = {figure.id: figure for figure in report.figures}
    said: dict[str, Claim] = {}
    for claim in report.claims:
        text = plain(print_figures(claim.text, figures)).lstrip("# ")
        if text.startswith("|"):
            text = "; ".join(cell.strip() for cell in text.strip("|").split("|") if cell.strip())
        said.setdefault(text, claim)
    return list(said.items())


Said = tuple[str, Claim]


def _claims(
    before: list[Said], after: list[Said]
) -> tuple[list[Said], list[tuple[Said, Said]], list[Said]]:
    old, new = {_letters(text) for text, _ in before}, {_letters(text) for text, _ in after}
    left = [item for item in before if _letters(item[0]) not in new]
    come = [item for item in after if _letters(item[0]) not in old]
    changed, left, come = _paired(left, come, lambda item: _NUMBER.sub("#", _letters(item[0])))
    alike = sorted(
        (
            (ratio, i, j)
            for i, (one, _) in enumerate(left)
            for j, (other, _) in enumerate(come)
            if (ratio := _likeness(one, other)) >= ALIKE
        ),
        key=lambda row: (-row[0], row[1], row[2]),
    )
    gone: set[int] = set()
    taken: set[int] = set()
    for _, i, j in alike:
        if i not in gone and j not in taken:
            gone.add(i)
            taken.add(j)
            changed.append((left[i], come[j]))
    left = [item for i, item in enumerate(left) if i not in gone]
    come = [item for j, item in enumerate(come) if j not in taken]
    return come, changed, left


def _likeness(one: str, other: str) -> float:
    words = SequenceMatcher(None, _letters(one).split(), _letters(other).split(), autojunk=False)
    likely = words.real_quick_ratio() >= ALIKE and words.quick_ratio() >= ALIKE
    return words.ratio() if likely else 0.0


def _letters(text: str) -> str:
    return " ".join(text.casefold().split())


def _figures(
    before: Report, after: Report
) -> tuple[tuple[FigureChange, ...], tuple[FigureChange, ...], tuple[FigureChange, ...]]:
    """New, restated and gone figures."""
    old, new = _filed(before), _filed(after)
    # What is the same in every way first, so that a second value under one name pairs with none.
    _, old, new = _paired(old, new, lambda item: (item.thing, item.file, item.worth))
    _, old, new = _paired(old, new, lambda item: (item.thing, item.owner, item.worth))
    by_file, old, new = _paired(old, new, lambda item: (item.thing, item.file))
    by_owner, old, new = _paired(old, new, lambda item: (item.thing, item.owner))
    return (
        tuple(item.change("", item.figure.printed()) for item in new),
        tuple(
            now.change(was.figure.printed(), now.figure.printed(), _why(was.figure, now.figure))
            for was, now in [*by_file, *by_owner]
        ),
        tuple(item.change(item.figure.printed(), "") for item in old),
    )


def _why(was: Figure, now: Figure) -> str:
    if was.amount != now.amount:
        return now.vintage
    return f"{now.vintage or 'no vintage told'}, before {was.vintage or 'none told'}"


@dataclass(frozen=True)
class _Filed:
    """A figure with the file that it stands in."""

    figure: Figure
    file: str
    owner: Hashable = field(default="")

    @property
    def thing(self) -> Hashable:
        """What it is a figure of."""
        figure = self.figure
        label = " ".join(figure.label.casefold().split())
        period = (figure.period_start, figure.period_end)
        return (label, *period, figure.unit, figure.currency, figure.basis)

    @property
    def worth(self) -> Hashable:
        """What may be restated."""
        return (self.figure.amount, self.figure.vintage)

    def change(self, before: str, after: str, why: str = "") -> FigureChange:
        """It, as it was printed before and after."""
        figure = self.figure
        return FigureChange(
            figure.id, figure.label, figure.period_end, before, after, self.file, why,
            figure.evidence if after else (),
        )  # fmt: skip


def _filed(report: Report) -> list[_Filed]:
    files = {item.id: item.file for item in report.evidence}
    known = {figure.id: figure for figure in report.figures}

    def file_of(figure: Figure) -> str:
        inputs = [known[name] for name in figure.inputs if name in known]
        behind = [*figure.evidence, *(name for one in inputs for name in one.evidence)]
        return next((files[name] for name in behind if name in files), "")

    # Without a label nobody can say what it is a figure of; its claim tells what changed.
    rows = [(figure, file_of(figure)) for figure in report.figures if figure.label]
    return [_Filed(figure, file, _owner(file)) for figure, file in rows]


def _owner(file: str) -> Hashable:
    """Whose file it is, as far as its name tells: without its years, periods and form."""
    if found := _CIK.search(file):
        return found[1]
    stem = file.rpartition("/")[2].rpartition(".")[0] or file
    words = [word.casefold() for word in re.findall(r"[A-Za-z]+|\d+", stem)]
    return tuple(word for word in words if not _NO_NAME.fullmatch(word)) or file


def _paired(
    old: Sequence[Item], new: Iterable[Item], key: Callable[[Item], Hashable]
) -> tuple[list[tuple[Item, Item]], list[Item], list[Item]]:
    """Pairs with the same key, in order, and what is left of both."""
    waiting: dict[Hashable, list[int]] = {}
    for place, item in enumerate(old):
        waiting.setdefault(key(item), []).append(place)
    pairs, rest, taken = [], [], set()
    for item in new:
        places = waiting.get(key(item))
        if places:
            place = places.pop(0)
            taken.add(place)
            pairs.append((old[place], item))
        else:
            rest.append(item)
    return pairs, [item for place, item in enumerate(old) if place not in taken], rest
