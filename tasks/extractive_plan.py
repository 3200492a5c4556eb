"""A plan without a model: the clauses of a question, each made to stand alone."""

from __future__ import annotations

import json
import re

from deskwork.tools.questions import parse, tokenize, years
from deskwork.tools.vocabulary import CONCEPTS, STOP_WORDS

_MOST = 6
_CLAUSE = re.compile(
    r"[?;]\s*|,?\s+and\s+(?=(?:how|what|which|why|who|where|when|did|does|do|is|are|was|were)\b)|"
    r",\s*(?=(?:how|what|which|why|who|where|when)\b)",
    re.I,
)
_ITEM = re.compile(r",\s*(?:and\s+|or\s+)?|\s+and\s+|\s+as well as\s+", re.I)
_LEAD = frozenset(
    [
        "how",
        "what",
        "which",
        "why",
        "who",
        "where",
        "when",
        "did",
        "does",
        "do",
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "the",
        "a",
        "an",
        "of",
        "its",
        "their",
        "this",
        "that",
        "much",
        "many",
        "and",
        "or",
        "by",
        "to",
        "describe",
        "explain",
        "summarize",
        "summarise",
        "compare",
        "assess",
        "analyze",
        "analyse",
        "research",
        "review",
        "report",
        "write",
        "give",
        "show",
        "tell",
        "me",
        "us",
        "about",
        "on",
        "for",
        "main",
        "key",
        "drove",
        "drives",
    ]
)
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
    subject, when = _subject(question), _when(question)
    about = "".join([f" of {subject}" if subject else "", f" {when}" if when else ""])
    topics = _topics(question, subject)
    found: dict[str, tuple[str, str]] = {}

    def add(title: str, text: str) -> None:
        found.setdefault(title.lower(), (title[:1].upper() + title[1:], text))

    if len(topics) > 1:
        for topic in topics:
            add(topic, f"What is reported on {topic}{about}?")
    else:
        add(topics[0], question)
    topic = topics[0]
    fallback = []
    kinds = parse(question).statements
    for kind in sorted(kinds, key=lambda kind: -kinds[kind])[:1]:
        name = _STATEMENTS[kind]
        fallback.append((f"The {name}", f"What does the {name}{about} show on {topic}?"))
    fallback += [
        ("What explains it", f"Why did {topic}{about} change, and what drove it?"),
        ("Notes and details", f"What do the notes say on {topic}{about}?"),
        ("Outlook", f"What is expected or planned on {topic}{about}?"),
    ]
    for title, text in fallback:
        if len(found) >= 3:
            break
        add(title, text)
    return list(found.values())[:_MOST]


def title_of(question: str) -> str:
    """A short title: the topics, and whose they are."""
    subject, when = _subject(question), _when(question)
    topics = _topics(question, subject)
    listed = topics[0] if len(topics) == 1 else ", ".join(topics[:-1]) + " and " + topics[-1]
    if len(listed) > 90:
        listed = ", ".join(topics[:2])
    listed = listed[:1].upper() + listed[1:]
    return (f"{subject}: {listed}" if subject else listed) + (f" {when}" if when else "")


def _topics(question: str, subject: str) -> list[str]:
    """What a question asks about, in its own words; sentences on how to answer are left out."""
    sentences = re.split(r"(?<=[.?!])\s+(?=[A-Z])", question)
    asking = [text for text in sentences if not _HOW.match(text)] or sentences
    topics: dict[str, str] = {}
    for clause in _CLAUSE.split(" ".join(asking)):
        for item in _ITEM.split(clause):
            topic = _bare(item, subject)
            if any(word not in STOP_WORDS for word in tokenize(topic)):
                topics.setdefault(topic.lower(), topic)
    return list(topics.values()) or ["the question"]


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


def _when(question: str) -> str:
    asked = years(question)
    if not asked:
        return ""
    return "in " + (str(asked[0]) if len(asked) == 1 else f"{asked[0]} to {asked[-1]}")
