"""What the model of the killed jobs says: a function of the conversation alone.

A task's name stands in its question. `ask` looks up some keys at each turn, several side by side,
and answers with a digest of all results; `research` investigates four parts, each of which cites
three sentences of a file of its own. So every result and every answer is known beforehand.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from deskwork.tasks.local_model import Asked, Said

PARTS = 4
QUOTES = 3


class Step(NamedTuple):
    """A model call of a task: which conversation, and how many replies it holds already.

    ``part`` is ask, plan, draft, repair, or the number of an investigation.
    """

    task: str
    part: str
    replies: int


def value_of(key: str) -> str:
    return f"value of {key} is {hashlib.sha256(key.encode()).hexdigest()[:12]}"


def keys_of(task: str, turn: int) -> list[str]:
    """The keys that a turn of `ask` looks up, three to five side by side."""
    return [f"{task}.{turn}.{place}" for place in range(3 + turn % 3)]


def ask_question(task: str, turns: int) -> str:
    return f"TASK={task}; TURNS={turns}; What do the keys say?"


def ask_answer(task: str, turns: int) -> str:
    """The right answer, worked out without the model."""
    values = [value_of(key) for turn in range(turns) for key in keys_of(task, turn)]
    return f"The keys of {task} say {_digest(values)}."


def research_question(task: str) -> str:
    return f"TASK={task}; What do the files say?"


def sentence(task: str, part: int, number: int) -> str:
    figure = int(hashlib.sha256(f"{task} {part} {number}".encode()).hexdigest()[:6], 16)
    return f"Company {task}x{part} made {figure} crates in plant {number}."


def write_files(folder: Path, task: str) -> None:
    """The task's documents, one a part."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(1, PARTS + 1):
        text = "\n\n".join(sentence(task, part, number) for number in range(QUOTES))
        (folder / file_of(task, part)).write_text(f"# TASK: Company {task}x{part}\n\n{text}\n")


def file_of(task: str, part: int) -> str:
    return f"{task}x{part}.txt"


def step_of(asked: Asked) -> Step:
    opening = asked.messages[0]["text"]
    kind = _find(r"Step: (\w+)", asked.system)
    # A check sees sentences and quotes alone; they tell the task.
    task = _find(r"Company (\w+?)x\d" if kind == "check" else r"TASK=(\w+);", opening)
    part = {"answer": "ask", "investigate": ""}.get(kind, kind)
    return Step(task, part or _find(r"PART=(\d+);", opening), asked.replies)


def say(asked: Asked) -> Said:
    """The next reply."""
    step = step_of(asked)
    if step.part == "ask":
        return _ask(step, asked)
    if step.part == "plan":
        parts = [
            {"title": f"part {part}", "question": f"TASK={step.task}; PART={part};"}
            for part in range(1, PARTS + 1)
        ]
        return Said(json.dumps({"title": f"Report {step.task}", "investigations": parts}))
    if step.part in ("check", "reflect"):
        return Said('{"unsupported": []}')
    if step.part == "draft":
        found = re.findall(r'\[(E[0-9a-f]{8})\] \S+, page 1: "([^"]+)"', _last(asked))
        lines = "\n\n".join(f"{quote} [{name}]" for name, quote in sorted(found, key=_second))
        return Said(f"# Report {step.task}\n\n## Summary\n\n{lines}\n\n## Limits\n\nNone.")
    return _investigate(step, asked)


def wrong_results(asked: Asked) -> list[str]:
    """What is wrong with the results in a request: another call's, out of order, or missing."""
    wrong, task = [], step_of(asked).task
    waiting: list[tuple[str, dict[str, Any], str]] = []
    for message in [*asked.messages, {"role": "end", "text": ""}]:
        if message["role"] == "tool":
            if not waiting:
                wrong.append(f"{task}: a result without a call: {message['text'][:80]}")
                continue
            name, arguments, call_id = waiting.pop(0)
            if message["call"] != call_id or not _fits(name, arguments, message["text"], task):
                wrong.append(f"{task}: {name}({arguments}) got {message['text'][:80]}")
            continue
        wrong += [f"{task}: {name}({arguments}) got nothing" for name, arguments, _ in waiting]
        waiting = list(message.get("calls", ()))
    return wrong


def _fits(name: str, arguments: dict[str, Any], text: str, task: str) -> bool:
    if name == "look_up":
        return text == value_of(arguments["key"])
    part = int(_find(rf"{task}x(\d+)", str(arguments)))
    if name == "cite":
        return arguments["quote"] in text and file_of(task, part) in text
    return all(sentence(task, part, number) in text for number in range(QUOTES))


def _ask(step: Step, asked: Asked) -> Said:
    turns = int(_find(r"TURNS=(\d+);", asked.messages[0]["text"]))
    if step.replies == turns:
        results = [m["text"] for m in asked.messages if m["role"] == "tool"]
        return Said(f"The keys of {step.task} say {_digest(results)}.", thinking="All is there.")
    keys = keys_of(step.task, step.replies)
    calls = [("look_up", {"key": key}, _id(step, place)) for place, key in enumerate(keys)]
    return Said(thinking=f"Turn {step.replies}.", calls=calls)


def _investigate(step: Step, asked: Asked) -> Said:
    part = int(step.part)
    file = file_of(step.task, part)
    if step.replies == 0:
        query = {"query": f"crates of company {step.task}x{part}", "file": file}
        read = {"file": file, "page": 1}
        return Said(calls=[("search_documents", query), ("read_document", read)])
    if step.replies == 1:
        quotes = [sentence(step.task, part, number) for number in range(QUOTES)]
        return Said(calls=[("cite", {"file": file, "page": 1, "quote": q}) for q in quotes])
    found = [_find(r"(E[0-9a-f]{8})", text) for text in asked.results]
    return Said(
        " ".join(
            f"{sentence(step.task, part, number)} [{name}]" for number, name in enumerate(found)
        )
    )


def _id(step: Step, place: int) -> str:
    # Ids repeat from turn to turn on purpose, as some servers' do.
    return f"call_{step.replies % 2}_{place}"


def _digest(values: list[str]) -> str:
    return hashlib.sha256("\n".join(values).encode()).hexdigest()[:16]


def _last(asked: Asked) -> str:
    return str(asked.messages[-1]["text"])


def _second(pair: tuple[str, str]) -> str:
    return pair[1]


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise LookupError(f"{pattern} is not in {text[:200]!r}")
    return found.group(1)
