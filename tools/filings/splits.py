"""Stock splits: told by the company, or seen where per share values and share counts jump.

After a split a company files older periods anew on the new basis, but only the few years that its
report compares. Older ones stay on the old basis, and nothing in the data says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from deskwork.tools.filings.facts import CompanyFacts
from deskwork.tools.filings.series import Entry

_TOLD = "us-gaap:StockholdersEquityNoteStockSplitConversionRatio1"
_PER_SHARE = ("us-gaap:EarningsPerShareDiluted", "us-gaap:EarningsPerShareBasic")
_SHARES = (
    "us-gaap:WeightedAverageNumberOfDilutedSharesOutstanding",
    "us-gaap:WeightedAverageNumberOfSharesOutstandingBasic",
)
_CENT = Decimal("0.0051")
_NEAR = Decimal("0.02")
_RATIOS = tuple(
    Decimal(new) / Decimal(old)
    for new, old in ((3, 2), *((n, 1) for n in range(2, 51)), *((1, n) for n in range(2, 51)))
)


@dataclass(frozen=True)
class Split:
    """``ratio`` new shares for one old; ``filed`` and ``accession`` of the first filing with it."""

    ratio: Decimal
    filed: str
    accession: str
    told: bool

    def __str__(self) -> str:
        how = "reported" if self.told else "seen in share counts and earnings per share"
        return f"{self.ratio:.4g} for 1, {how} in {self.accession}, filed {self.filed}"


def find_splits(facts: CompanyFacts) -> list[Split]:
    """The splits, oldest first. What is seen counts only where both sides jump in one filing."""
    found = {
        fact.first.value: Split(fact.first.value, fact.first.filed, fact.first.accession, True)
        for units in facts.units(_TOLD).values()
        for fact in reversed(units)
        if fact.first.value not in (0, 1)
    }
    eps = _jumps(facts, _PER_SHARE, inverse=True)
    for key, filed in _jumps(facts, _SHARES, inverse=False).items():
        accession, ratio = key
        if key in eps and ratio not in found:
            found[ratio] = Split(ratio, filed, accession, False)
    return sorted(found.values(), key=lambda split: (split.filed, split.ratio))


def _jumps(
    facts: CompanyFacts, concepts: Sequence[str], *, inverse: bool
) -> dict[tuple[str, Decimal], str]:
    """Accession and ratio of each jump between two vintages of one period, and when it was filed.

    Oldest first, so that of one ratio the first filing is met first.
    """
    found: dict[tuple[str, Decimal], str] = {}
    for concept in concepts:
        for of in facts.units(concept).values():
            for fact in of:
                for before, after in zip(fact.vintages, fact.vintages[1:], strict=False):
                    old, new = before.value, after.value
                    if ratio := _ratio(*((new, old) if inverse else (old, new)), cents=inverse):
                        found[after.accession, ratio] = after.filed
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _ratio(small: Decimal, large: Decimal, *, cents: bool) -> Decimal | None:
    """The ratio of a split that leads from one to the other; values per share are in cents."""
    if not small or not large or small == large or (small < 0) != (large < 0):
        return None
    for ratio in _RATIOS:
        if cents:
            slack = max(_CENT * max(ratio, Decimal(1)), abs(large) * _NEAR / 4)
            close = abs(small * ratio - large) <= slack and abs(large) > 4 * slack
        else:
            close = abs(small * ratio - large) <= abs(large) * _NEAR
        if close:
            return ratio
    return None


def basis_notes(entries: Sequence[Entry], splits: Sequence[Split]) -> dict[int, str]:
    """For the values that a later split left on the old basis: their place, and a sentence."""
    found: dict[int, str] = {}
    for place, entry in enumerate(entries):
        if "shares" not in entry.unit:
            continue
        late = [split for split in splits if entry.latest.filed < split.filed]
        if late:
            told = "; ".join(map(str, late))
            found[place] = f"before the split ({told}): not restated for it"
    return found
