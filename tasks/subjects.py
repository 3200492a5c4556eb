"""What a report should be about, held against what it is about: names, and sections with nothing.

A question about one company, asked over the files of another, finds passages that answer nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from deskwork.tasks.sentences import sections_of

_NAME = re.compile(r"\b[A-Z][A-Za-z0-9&-]{2,}\b(?P<own>['’]s)?")
_OFTEN_WORDS = """
    what which who whom whose when where why how did does has have had was were are is can could
    would should will tell list give show compare describe explain find and the for from with into
    between over under about january february march april may june july august september october
    november december monday tuesday wednesday thursday friday saturday sunday gaap ifrs ebit ebitda
    eps usd eur gbp chf jpy capex opex roe roic sec yoy cagr fiscal quarter year annual report inc
    corp ltd plc group company note notes item form please
"""
_OFTEN = frozenset(_OFTEN_WORDS.split())


def names_in(question: str) -> list[str]:
    """The proper names of a question: capitalised words that don't merely begin a sentence."""
    found = []
    for match in _NAME.finditer(question):
        word = match[0].removesuffix("'s").removesuffix("’s")
        begins = not re.search(r"[^.!?:\s]\s+$", question[: match.start()])
        all_capitals = word.isupper()
        if word.casefold() in _OFTEN or (begins and not match["own"] and not all_capitals):
            continue
        if re.fullmatch(r"(?:[QH]\d|FY)\d*(?:-K|-Q)?", word):
            continue
        found.append(word)
    return list(dict.fromkeys(found))


def strangers(question: str, unknown: Callable[[str], list[str]], texts: list[str]) -> list[str]:
    """The names of a question that stand neither in the documents nor in these texts.

    ``unknown`` gives the words of a query that stand nowhere in the documents.
    """
    said = " ".join(texts).casefold()
    return [
        name
        for name in names_in(question)
        if unknown(name) and name.casefold() not in re.sub(r"[^\w&-]+", " ", said)
    ]


def empty_sections(text: str) -> list[str]:
    """The headings of a report that have nothing under them."""
    sections = sections_of(text)
    after = [*sections[1:], None]
    return [
        section.heading
        for section, following in zip(sections, after, strict=True)
        if section.level > 1
        and not section.text.strip()
        and not (following and following.level > section.level)
    ]
