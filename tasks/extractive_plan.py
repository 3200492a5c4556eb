"""A plan without a model: the clauses of a question, each made to stand alone."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from deskwork.tasks.extractive_language import is_english
from deskwork.tools.questions import parse, tokenize, years
from deskwork.tools.vocabulary import CONCEPTS, STOP_WORDS

_MOST = 6
_MOST_OF_COMPANIES = 8
FALLBACKS = ("From the statements", "Reasons given", "From the notes", "Outlook")
"""Sections nobody asked for, which fill a plan of fewer than three clauses."""
_BESIDE = r"(?:[’']s)?(?:,\s*(?:and\s+|or\s+)?|\s+(?:and|or|vs\.?|versus|with|to)\s+)"
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
_WEIGHED = re.compile(
    r"""(?ix)\b(?:
    (?:which\ |of\ the\ |the\ )*(?:(?:two|three|four|five)\ )?(?:compan(?:y|ies)|firms?)|which|whose
    |beats?|beaten|beating|exceed(?:s|ed)?|outperform(?:s|ed)?|outpac(?:e|es|ed)
    |surpass(?:es|ed)?|trail(?:s|ed)?|lag(?:s|ged)?(?:\ behind)?|rank(?:s|ed)?
    |compar(?:e|es|ed|ing)(?:\ (?:with|to|against))?|differ(?:s|ed)?(?:\ from)?
    |(?:better|worse|higher|lower|larger|smaller|greater|bigger|stronger|weaker|faster|slower
    |more|less|best|worst|highest|lowest|largest|smallest|greatest|biggest|strongest|weakest
    |fastest|slowest|most|least)(?:\ than)?
    |than|those(?:\ (?:of|at|from))?|that\ (?:of|at)|the\ (?:others?|rest|latter|former)|ahead\ of
    |versus|vs\.?|against|does|do|did|has|have|had)(?!\w)"""
)
"""How companies are weighed against each other: what is asked of each of them is the rest."""
_GREW = re.compile(r"(?i)\b(?:grew|grows?|growing|grown)\b")
_DANGLING = re.compile(r"(?i)^(?:(?:in|on|at|with|by|of|for|to|from|the|a|an|is|are|was|were)\s+)+")
_Part = tuple[str, str]
_STATEMENTS = {
    "income": "statement of income",
    "balance": "balance sheet",
    "cash": "cash flow statement",
}


def plan(brief: str) -> str:
    """The plan as JSON, for a brief that holds the question and the names of the documents."""
    question, _, listed = brief.partition("\n\nDocuments:\n")
    question = question.removeprefix("Question: ").strip()
    parts = [
        {"title": title, "question": text}
        for title, text in investigations(question, files_listed(listed))
    ]
    return json.dumps({"title": title_of(question), "investigations": parts}, ensure_ascii=False)


def files_listed(text: str) -> list[str]:
    """The names in the list of documents of an opening."""
    return re.findall(r"^- (.+)$", text, re.M)


def files_of(company: str, files: Sequence[str]) -> list[str]:
    """The files whose names begin with a company's, written in any way."""
    wanted = _letters(company)
    first = _letters(company.split()[0]) if company.split() else ""
    # "Acme Holdings" may be filed as "acme-2020.pdf".
    return [
        file
        for file in files
        if (wanted and _letters(file).startswith(wanted))
        or (len(first) > 3 and re.split(r"[^a-z]", file.lower())[0] == first)
    ]


def companies_of(question: str, files: Sequence[str]) -> list[str]:
    """The companies that a question names, as the names of files tell, and those listed beside."""
    runs = _capitals(question)
    told = [run for run in runs if files_of(run, files)]
    beside = {
        run
        for run in runs
        for other in told
        if re.search(rf"{re.escape(run)}{_BESIDE}{re.escape(other)}\b", question)
        or re.search(rf"{re.escape(other)}{_BESIDE}{re.escape(run)}\b", question)
    }
    return [run for run in runs if run in told or run in beside]


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _of_companies(topics: Sequence[_Topic], companies: Sequence[str], why: bool) -> list[_Part]:
    """Each clause for each company, or each company, where that would be too many."""
    reasons = ", and why did that change" if why else ""
    if len(topics) * len(companies) > _MOST_OF_COMPANIES:
        words = ", ".join(topic.words for topic in topics)
        return [
            (company, f"What is reported on {words} of {company}{topics[0].when}{reasons}?")
            for company in companies
        ][:_MOST_OF_COMPANIES]
    return [
        (
            f"{company}: {topic.words}",
            f"What is reported on {topic.words} of {company}{topic.when}{reasons}?",
        )
        for company in companies
        for topic in topics
    ]


def investigations(question: str, files: Sequence[str] = ()) -> list[_Part]:
    """At least three investigations, as (title, question)."""
    if not is_english(question):
        return _untaken(question)
    subject = _subject(question)
    whose = f" of {subject}" if subject else ""
    topics = _topics(question, subject)
    found: dict[str, _Part] = {}
    companies = companies_of(question, files)

    def add(title: str, text: str) -> None:
        found.setdefault(title.lower(), (title[:1].upper() + title[1:], text))

    if len(companies) > 1:
        why = bool(re.search(r"(?i)\bwhy\b", question))
        for title, text in _of_companies(topics, companies, why):
            add(title, text)
    for topic in topics:
        if len(companies) > 1:
            break
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
        (FALLBACKS[0], f"What does the {name}{about} show on {first.words}?")
        for kind in sorted(kinds, key=lambda kind: -kinds[kind])[:1]
        for name in [_STATEMENTS[kind]]
    ]
    further += [
        (FALLBACKS[1], f"Why did {first.words}{about} change, and what drove it?"),
        (FALLBACKS[2], f"What do the notes say on {first.words}{about}?"),
        (FALLBACKS[3], f"What is expected or planned on {first.words}{about}?"),
    ]
    for title, text in further[: max(0, 3 - len(found))]:
        add(title, text)
    return list(found.values())[: max(_MOST, len(found) if len(companies) > 1 else 0)]


def title_of(question: str) -> str:
    """A short title: whose figures, on what, of when."""
    if not is_english(question):
        return _shortened(question)
    subject = _subject(question)
    topics = _topics(question, subject)
    words = [topic.words for topic in topics if not topic.asks] or [topics[0].words]
    listed = words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
    if len(listed) > 90:
        listed = ", ".join(words[:2]) + " and more"
    listed = listed[:1].upper() + listed[1:]
    when = _when(question).removeprefix(" in ")
    return (f"{subject}: {listed}" if subject else listed) + (f", {when}" if when else "")


def _untaken(question: str) -> list[_Part]:
    """A question that isn't taken apart: as it stands, by its longer words, by its names."""
    words = re.findall(r"[^\W_]+", question)
    longer = [word for word in words if len(word) > 4 or word.isdigit()]
    names = [word for word in words[1:] if word[0].isupper() or word.isdigit()]
    return [
        (_shortened(question), question),
        ("By its longer words", " ".join(longer) or question),
        ("By its names and years", " ".join(names) or question),
    ]


def _shortened(question: str) -> str:
    """The question's beginning, as a title."""
    return textwrap.shorten(question, 90, placeholder=" …").rstrip("?") or question


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
    compared = " and " in subject
    for clause in _CLAUSE.split(" ".join(asking)):
        when = _when(clause) or _when(question)
        for item in _ITEM.split(clause):
            words = _bare(item, subject, compared=compared)
            if re.fullmatch(r"\w+(?:ed|ing)", words):
                asked = " ".join(item.strip(" ,.?!:;").split())
                topics.setdefault(words.lower(), _Topic(asked, when, asks=True))
            elif any(word not in STOP_WORDS for word in tokenize(words)):
                topics.setdefault(words.lower(), _Topic(words, when))
    if not topics and compared:
        return [_Topic("revenue", _when(question)), _Topic("net income", _when(question))]
    return list(topics.values()) or [_Topic("the question", "")]


def _bare(item: str, subject: str, *, compared: bool) -> str:
    """An item without its question words, its company and its period; where companies are
    ``compared``, also without the words that weigh them.
    """
    text = re.sub(r"[’']s\b", "", _PARENTHESES.sub(" ", item))
    for word in sorted(set(subject.replace(",", " ").split()) - {"and"}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ", text)
    if compared:
        text = _WEIGHED.sub(" ", _GREW.sub("growth", text))
    text = " ".join(_YEARS.sub(" ", text).split())
    words = text.strip(" ,.?!:;").split()
    while words and words[0].lower().strip(",:") in _LEAD:
        words.pop(0)
    text, before = " " + " ".join(words), ""
    while text != before:
        text, before = _TAIL.sub("", text), text
    text = _DANGLING.sub("", text.strip()) if compared else text
    return " ".join(text.split()[:8]).strip(" ,.?:;")


def _subject(question: str) -> str:
    """Whose figures are meant."""
    names = _capitals(question)[:3]
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _capitals(question: str) -> list[str]:
    """The words written with a capital that open no sentence, and aren't what is asked about."""
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
    return list(subjects)


def _when(text: str) -> str:
    asked = years(text)
    if not asked:
        return ""
    return " in " + (str(asked[0]) if len(asked) == 1 else f"{asked[0]} to {asked[-1]}")
