"""Lines of the statements that a label names and a sentence speaks of: revenue is no gross profit.

Only lines that everybody calls by the same few names are told apart, and only where both the
source's label and the sentence name exactly one of them.
"""

from __future__ import annotations

import re

# The longer names come first: what they take is out of the way of the shorter ones.
_LINES: tuple[tuple[str, str], ...] = (
    ("cost of sales", r"costs? of (?:sales|goods sold|revenues?|products?|services?)|cogs"),
    ("gross profit", r"gross (?:profit|margin)"),
    ("operating income", r"operating (?:income|profit|earnings|loss|margin)"
                         r"|(?:income|profit|loss) from operations|\bEBIT\b"),
    ("operating cash flow", r"(?:cash [^.]{0,40})?operating activities"
                            r"|operating cash flows?|cash from operations"),
    ("EBITDA", r"\bEBITDA\b"),
    ("pretax income", r"(?:income|earnings|profit|loss)[^.]{0,30}before[^.]{0,25}tax\w*"
                      r"|pre-?tax (?:income|profit|earnings|loss)"),
    ("earnings per share", r"(?:earnings|loss|income) per[^.]{0,30}share|\bEPS\b"),
    ("net income", r"net (?:income|earnings|loss|profit)(?: \(loss\)| \(earnings\))?"
                   r"|profit for the (?:year|period)"),
    ("total assets", r"total assets"),
    ("total liabilities", r"total liabilities"),
    ("inventories", r"(?:merchandise )?inventor(?:y|ies)"),
    ("revenue", r"(?:total |net )?(?:revenues?|sales|turnover)"),
)  # fmt: skip
_PATTERNS = [(name, re.compile(rf"(?i)\b(?:{words})\b")) for name, words in _LINES]
_LABEL_ALONE = 3
"""Words that a label may have beside its line's name: a segment's sales are another thing."""


def other_line(label: str, sentence: str) -> str:
    """Why a number under a label isn't the line its sentence speaks of; or ""."""
    own = _lines(label)
    said = _lines(sentence)
    if len(own) != 1 or len(said) != 1 or own == said:
        return _other_share(label, sentence)
    rest = len(re.findall(r"[A-Za-z]{2,}", label)) - len(next(iter(own)).split())
    if rest > _LABEL_ALONE:
        return ""
    return f"is “{label[:60]}” in its source, and its sentence speaks of {next(iter(said))}"


def _lines(text: str) -> set[str]:
    found = set()
    for name, pattern in _PATTERNS:
        if pattern.search(text):
            found.add(name)
            text = pattern.sub(" ", text)
    return found


def _other_share(label: str, sentence: str) -> str:
    """Basic is not diluted."""
    kinds = ("basic", "diluted")
    own, said = ([k for k in kinds if k in text.lower()] for text in (label, sentence))
    if len(own) == len(said) == 1 and own != said:
        return f"is {own[0]} in its source, and {said[0]} in its sentence"
    return ""
