"""The facts of a company as the SEC gives them (``companyfacts``): one line for each fact.

A line must stand on its own when it is quoted, so that it names its concept and unit, which the
file only has as keys around it. Shape, from data.sec.gov/api/xbrl/companyfacts:
``facts.{taxonomy}.{tag}.units.{unit}[]`` of ``{start?, end, val, accn, fy, fp, form, filed,
frame?}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_OF_A_FACT = ("start", "end", "val", "accn", "fy", "fp", "form", "filed", "frame")
HEADER = (*_OF_A_FACT, "concept", "unit")
"""The columns of a fact's line: the file's own, then what the keys around it say."""


def is_company_facts(value: Any) -> bool:
    """Whether a JSON value has that shape, down to the last fact."""
    try:
        if not {"cik", "entityName", "facts"} <= value.keys():
            return False
        return all(
            isinstance(fact, dict) and fact["end"] and "val" in fact
            for _, _, _, rows in fact_lists(value)
            for fact in rows
        )
    except (AttributeError, KeyError, TypeError):
        return False


def fact_lists(value: Mapping[str, Any]) -> Iterator[tuple[str, str, str, list[dict[str, Any]]]]:
    """Taxonomy, tag and unit of each list of facts, and the list."""
    for taxonomy, tags in value["facts"].items():
        for tag, concept in tags.items():
            for unit, rows in concept["units"].items():
                yield taxonomy, tag, unit, rows


def fact_row(concept: str, unit: str, fact: Mapping[str, Any]) -> tuple[str, ...]:
    """The cells of a fact's line, under `HEADER`; ``concept`` is ``taxonomy:tag``."""
    own = ("" if (cell := fact.get(name)) is None else str(cell) for name in _OF_A_FACT)
    return (*own, concept, unit)
