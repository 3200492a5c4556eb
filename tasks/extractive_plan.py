"""A plan without a model: the clauses of a question, each made to stand alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from deskwork.tools.questions import parse, tokenize, years
from deskwork.tools.vocabulary import CONCEPTS, STOP_WORDS

_MOST = 6
_CLAUSE = re.compile(
    r"[?;]\s*|,?\s+and\s+(?=(?:how|what|which|why|who|where|when|did|does|do|is|are|was|were)\b)|"
    r",\s*(?=(?:how|what|which|why|who|where|when)\b)",
    re.I,
)
_ITEM = re.compile(r",\s*(?:and\s+|or\s+)?|\s+and\s+|\s+as well as\s+", re.I)
_LEADING = """
how what which why who where when did does do is are was were has have had the a an of its
their this that much many and or by to describe explain summarize summarise compare assess
analyze analyse research review report write give show tell me us about on for main key
drove drives
"""
_LEAD = frozenset(_LEADING.split())
_PERIOD = r"(?:the\s+)?(?:fiscal|fy|years?|q[1-4]|quarters?|\d|end|last|past|each|both|period)"
_TAIL = re.compile(
    rf"\s+(?:(?:in|for|during|between|from|over|as of|at|since|until|by|to)\s+{_PERIOD}\b.*"
    r"|(?:develop|change|evolve|grow|compare|perform|move|look|stand|rise|fall)(?:ed|d)?"
    r"|(?:in|for|of|at|by|from|to|as of|over|during|between|and|the|its))$",
    re.I,
)
_PARENTHESES = re.compile(r"\([^)]*\)")
_YEARS = re.compile(
    r"(?i)\b(?:(?:fy|fiscal|fiscal year)\s?)?(?:(?:19|20)\d\d|(?<=fy)\d\d)\b(\s*[-–]\s*)?"
)
_HOW = re.compile(
    r"(?i)(if|give|answer|base|calculate|assume|please|using|round|address|provide|define|state|"
    r"respond|reply|rely|note)\b"
)
_STATEMENTS = {
    "income": "statement of income",
    "balance": "balance sheet",
    "cash": "cash flow statement",
}


def plan(brief: str) -> str:
    """The plan as JSON, for a brief that holds the question and the names of the documents."""
    question = brief.partition("\n\nDocuments:\n")[0].removeprefix("Question: ").strip()
    parts = [{"title": title, "question": text} for title, text in investigations(question)]
    return json.dumps({"title": title_of(question), "investigations": parts}, ensure_ascii=False)


def investigations(question: str) -> list[tuple[str, str]]:
    """At least three investigations, as (title, question)."""
    subject = _subject(question)
    whose = f" of {subject}" if subject else ""
    topics = _topics(question, subject)
    found: dict[str, tuple[str, str]] = {}

    def add(title: str, text: str) -> None:
        found.setdefault(title.lower(), (title[:1].upper() + title[1:], text))

    for topic in topics:
        if len(topics) == 1:
            add(topic.words, question)
        elif topic.asks:
            add(topic.words, f"{topic.words[:1].upper()}{topic.words[1:]}{whose}?")
        else:
            add(topic.words, f"What is reported on {topic.words}{whose}{topic.when}?")
    first = topics[0]
    about = f"{whose}{first.when}"
    kinds = parse(question).statements
    further = [
        (f"The {name}", f"What does the {name}{about} show on {first.words}?")
        for kind in sorted(kinds, key=lambda kind: -kinds[kind])[:1]
        for name in [_STATEMENTS[kind]]
    ]
    further += [
        ("What explains it", f"Why did {first.words}{about} change, and what drove it?"),
        ("Notes and details", f"What do the notes say on {first.words}{about}?"),
        ("Outlook", f"What is expected or planned on {first.words}{about}?"),
    ]
    for title, text in further[: max(0, 3 - len(found))]:
        add(title, text)
    return list(found.values())[:_MOST]


def title_of(question: str) -> str:
    """A short title: whose figures, on what, of when."""
    subject = _subject(question)
    topics = _topics(question, subject)
    words = [topic.words for topic in topics if not topic.asks] or [topics[0].words]
    listed = words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
    if len(listed) > 90:
        listed = ", ".join(words[:2]) + " and more"
    listed = listed[:1].upper() + listed[1:]
    when = _when(question).removeprefix(" in ")
    return (f"{subject}: {listed}" if subject else listed) + (f", {when}" if when else "")


@dataclass(frozen=True)
class _Topic:
    """What is asked about, and when; ``asks`` is True for words that are a question themselves."""

    words: str
    when: str
    asks: bool = False


def _topics(question: str, subject: str) -> list[_Topic]:
    """What a question asks about, in its own words; sentences on how to answer are left out."""
    sentences = re.split(r"(?<=[.?!])\s+(?=[A-Z])", question)
    asking = [text for text in sentences if not _HOW.match(text)] or sentences
    topics: dict[str, _Topic] = {}
    for clause in _CLAUSE.split(" ".join(asking)):
        when = _when(clause) or _when(question)
        for item in _ITEM.split(clause):
            words = _bare(item, subject)
            if re.fullmatch(r"\w+(?:ed|ing)", words):
                asked = " ".join(item.strip(" ,.?!:;").split())
                topics.setdefault(words.lower(), _Topic(asked, when, asks=True))
            elif any(word not in STOP_WORDS for word in tokenize(words)):
                topics.setdefault(words.lower(), _Topic(words, when))
    return list(topics.values()) or [_Topic("the question", "")]


def _bare(item: str, subject: str) -> str:
    """An item without its question words, its company and its period."""
    text = re.sub(r"[’']s\b", "", _PARENTHESES.sub(" ", item))
    for word in sorted(set(subject.split()) - {"and"}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ", text)
    text = " ".join(_YEARS.sub(" ", text).split())
    words = text.strip(" ,.?!:;").split()
    while words and words[0].lower().strip(",:") in _LEAD:
        words.pop(0)
    text, before = " " + " ".join(words), ""
    while text != before:
        text, before = _TAIL.sub("", text), text
    return " ".join(text.split()[:8]).strip(" ,.?:;")


def _subject(question: str) -> str:
    """Whose figures are meant: the words written with a capital that open no sentence."""
    runs = re.findall(
        r"(?<![.?!]\s)(?<!^)(?<![\w&])(?:\d?[A-Z][\w&.-]*[a-z\d]|\d?[A-Z]{1,6}(?![a-z]))"
        r"(?:\s+(?:of\s+)?[A-Z][\w&-]*)*",
        question,
    )
    known = {word for concept in CONCEPTS for phrase in concept.asked for word in phrase.split()}
    skipped = re.compile(r"(?i)(fy|q)\d.*|fy|\w|usd|us|eur|gaap|\d+|p&l|yoy|ceo|cfo|agm")
    subjects: dict[str, None] = {}
    for run in runs:
        words = [
            word for word in re.sub(r"[’']s\b", "", run).split() if not skipped.fullmatch(word)
        ]
        plain = STOP_WORDS | _LEAD | known
        if words and any(not set(tokenize(word)) <= plain for word in words):
            subjects.setdefault(" ".join(words).strip(".,"))
    return " and ".join(list(subjects)[:3])


def _when(text: str) -> str:
    asked = years(text)
    if not asked:
        return ""
    return " in " + (str(asked[0]) if len(asked) == 1 else f"{asked[0]} to {asked[-1]}")
