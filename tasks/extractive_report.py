"""The texts of the built-in answerer: answers, the draft of a report, and a mended draft.

They consist of quotes with their file, page and evidence id, one bullet each; nothing is said
that isn't quoted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from deskwork.tasks.extractive_plan import FALLBACKS, title_of
from deskwork.tasks.extractive_select import opens_with
from deskwork.tasks.extractive_turns import Quote, Turn, pages_read

NO_MODEL = (
    "No language model was used: these are passages of the documents, quoted as they stand. "
    "Nothing was computed or concluded from them."
)
AT_LIMIT = (
    "A limit of the job was reached here: what was cited by then stands above, and nothing "
    "further was looked for."
)
_NOTHING_YET = "A limit of the job was reached before the documents were read"
_FINDINGS = re.compile(r"^Findings of investigation \d+, (.*)$", re.M)
_BULLET = re.compile(r"^- .*\[E[0-9a-f]{8}\].*$", re.M)
_ID = re.compile(r"\[(E[0-9a-f]{8})\]")
_STATES = re.compile(r"\d.*[.!?][”\"’)]*” — ")  # a sentence with a figure says more than a row
_SUMMARY = 8
_ROW = ", under “"  # a row of a table is quoted with its head
_AT_LIMIT = re.compile(r"^A limit of the job was reached before", re.M)


def answer_of(quotes: Sequence[Quote], heads: Mapping[str, Quote]) -> str:
    """An answer in quotes. ``heads`` gives the quoted head of the table for the id of a row."""
    columns = {head.id for head in heads.values()}
    lines = []
    for quote in quotes:
        if quote.id in columns:
            continue
        line = f"- “{escape(quote.text)}” — {escape(quote.file)}, page {quote.page} [{quote.id}]"
        if head := heads.get(quote.id):
            line += f", under “{escape(head.text)}” [{head.id}]"
        lines.append(line)
    return "\n".join(lines) + f"\n\n{NO_MODEL}"


def escape(text: str) -> str:
    """A quote as Markdown shows it unchanged."""
    return re.sub(r"([\\`*<\[\]]|(?<!\w)_|_(?!\w))", r"\\\1", text)


def nothing_yet(turns: Sequence[Turn]) -> str:
    """An answer where a limit was reached before anything was cited; the documents may hold it."""
    read = [f"- read {file}, page {page}" for file, page in pages_read(turns)]
    if not read:
        return (
            f"{_NOTHING_YET}, so nothing can be said on what they hold. "
            "Raise the limit to go on. No language model was used."
        )
    return (
        "A limit of the job was reached before a passage was cited, so nothing can be said on "
        "what the documents hold. Raise the limit to go on. No language model was used. "
        "Read by then:\n\n" + "\n".join(read)
    )


def nothing_found(turns: Sequence[Turn]) -> str:
    """An answer that says what was tried; it cites nothing."""
    searches = [
        str(call.arguments.get("query", ""))
        for turn in turns
        for call in turn
        if call.name == "search_documents"
    ]
    lines = [f"- searched for “{' '.join(query.split())}”" for query in searches]
    lines += [f"- read {file}, page {page}" for file, page in pages_read(turns)]
    tried = "\n".join(lines) or "- nothing could be searched"
    return (
        "No passage of the documents answers this well enough to be quoted. What was tried:\n\n"
        f"{tried}\n\nNo language model was used; one may find what matching words can't."
    )


def draft(brief: str) -> str:
    """The report of a research job from the findings in its brief."""
    question, findings = _parts(brief)
    title = title_of(question)
    sections, seen, summary = list[str](), set[str](), list[str]()
    missing, cut = list[str](), list[str]()
    for heading, text in findings:
        bullets = []
        for bullet in _BULLET.findall(text):
            names = _ID.findall(bullet)
            if names and names[0] not in seen:
                seen.add(names[0])
                bullets.append(bullet)
        fallback = heading in FALLBACKS
        if heading == FALLBACKS[0]:
            bullets = [bullet for bullet in bullets if _ROW in bullet]
        if fallback and not bullets:
            continue
        if bullets:
            if not fallback or not summary:
                summary.append(_telling(heading, bullets))
            sections.append(f"## {heading}\n\n" + "\n".join(bullets))
        elif _BULLET.search(text):
            sections.append(f"## {heading}\n\nWhat was found on this stands above.")
        elif _AT_LIMIT.search(text):
            cut.append(heading)
            sections.append(
                f"## {heading}\n\nA limit of the job was reached before anything was cited on this."
            )
        else:
            missing.append(heading)
            sections.append(
                f"## {heading}\n\nNo passage of the documents answers this well enough to be "
                "quoted."
            )
    limits = [f"- {NO_MODEL}"]
    if missing:
        limits.append(f"- Nothing was found for: {'; '.join(missing)}.")
    if cut:
        limits.append(f"- The limit was reached before the documents were read: {'; '.join(cut)}.")
    return "\n\n".join(
        [
            f"# {title}",
            "## Summary\n\n" + ("\n".join(summary[:_SUMMARY]) or "Nothing was found."),
            *sections,
            "## Limits\n\n" + "\n".join(limits),
        ]
    )


def _telling(heading: str, bullets: Sequence[str]) -> str:
    """The quote for the summary: a sentence about the topic with its figure, or else a row."""
    topic = heading.partition(": ")[2] or heading
    stating = [bullet for bullet in bullets if _STATES.search(bullet)]
    about = [bullet for bullet in stating if opens_with(topic, bullet)]
    rows = [bullet for bullet in bullets if _ROW in bullet]
    return next(iter([*about, *rows, *stating, *bullets]))


def _parts(brief: str) -> tuple[str, list[tuple[str, str]]]:
    text = brief.partition("\n\nEvidence:\n")[0]
    pieces = _FINDINGS.split(text)
    question = pieces[0].removeprefix("Question: ").strip()
    return question, [
        (head.partition(" (")[0], body)
        for head, body in zip(pieces[1::2], pieces[2::2], strict=True)
    ]


def mended(brief: str) -> str:
    """The draft without the sentences that the check names."""
    head, _, text = brief.partition("\n\nThe draft:\n\n")
    for sentence in re.findall(r'^- "(.*)": ', head, re.M):
        words = r"\s+".join(map(re.escape, sentence.split()))
        text = re.sub(rf"(?m)^[ \t]*(?:[-*+]|\d+\.)[ \t]+{words}[ \t]*$\n?", "", text)
        text = re.sub(words, "", text)
    return text
