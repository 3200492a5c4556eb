"""What an evaluation leaves: scores by model and budget side by side, a page of the failures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import jinja2

from deskwork.tasks.grading import SIGNS
from deskwork.tools.errors import StorageError


class Scored(Protocol):
    """A question's score, as `deskwork.flows.trial.Score` has it."""

    variant: str
    right: bool | None
    found: int
    cited: bool | None
    citations: int
    standing: int
    figures: int
    unbound: int
    usage: dict[str, Any]


_TEMPLATE = jinja2.Environment(autoescape=True).from_string(
    """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ name }}: {{ job }}</title><style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1100px;padding:0 1rem}
table{border-collapse:collapse;width:100%;margin:.4rem 0 1.5rem}
td,th{border-bottom:1px solid #d9dee5;padding:.3rem .6rem;text-align:left;vertical-align:top}
.bad{color:#a32020}.src{color:#5b6675;font-size:13px}section{border-top:1px solid #d9dee5}
pre{white-space:pre-wrap;font:inherit;margin:.2rem 0}
</style><h1>{{ name }}</h1><p class="src">Job {{ job }}; {{ done }} of {{ total }} answers.</p>
<table><tr><th>Variant{% for title in titles %}<th>{{ title }}{% endfor %}</tr>
{% for row in rows %}<tr><td>{{ row.variant }}{% for title in titles %}<td>{{ row[title] }}
{% endfor %}</tr>{% endfor %}</table>
<h2>What the columns mean</h2><dl>{% for title, meaning in meanings.items() %}
<dt><b>{{ title }}</b><dd>{{ meaning }}{% endfor %}</dl>
{% if signs %}<h2>Right, though the sign differs</h2>
<p>Money that goes out is given with a minus or in brackets by some, and as a size by others: the
same digits with another sign are taken for the same answer. Look at these where the sign is what
was asked.</p>
<ul>{% for row in signs %}<li>{{ row.id }}, {{ row.variant }}: {{ row.why }}</li>{% endfor %}</ul>
{% endif %}<h2>Failures</h2>{% if not failures %}<p>None.</p>{% endif %}
{% for row in failures %}<section><h3>{{ row.id }}, {{ row.variant }}</h3>
<p>{{ row.question }}</p><p><b>Gold:</b> {{ row.gold|join("; ") }}</p>
<p><b>Answer</b> <span class="bad">({{ row.why }})</span></p><pre>{{ row.answer }}</pre>
<p class="src">{% if row.cited is not none %}evidence page
{{ "cited" if row.cited else "not cited" }}{% if row.found %}, found at place {{ row.found }}
{% else %}, not found{% endif %}; {% endif %}cites
{% for file, page in row.pages %}{{ file }}, page {{ page }}; {% endfor %}job {{ row.job }}</p>
{% for problem in row.problems %}<p class="bad src">{{ problem }}</p>{% endfor %}</section>
{% endfor %}</html>
"""
)
TITLES = (
    *("answers", "right", "not told", "found in 5", "found in 10", "page cited"),
    *("citations that stand", "unbound figures", "tokens in", "tokens out", "cost"),
)
"""The columns of the table."""
MEANINGS = {
    "right": "Answers that are the gold answer: numbers within the set's tolerance (1 % where it "
    "names none), in any unit and scale, and whatever the sign where the digits are the same, "
    "since outflows are given both ways; texts by their words, then by a model.",
    "not told": "Answers that neither code nor a model could judge: other words than the gold "
    "answer's, or neither yes nor no. They count as not right, and a person should read them; "
    "without a language model nobody judges words.",
    "found in 5, found in 10": "Questions whose evidence page stands among the first 5 or 10 "
    "pages that a search of the files finds.",
    "page cited": "Questions whose answer cites an evidence page.",
    "citations that stand": "Cited quotes that are found again, word for word, in their files.",
    "unbound figures": "Numbers of the answers that no cited source bears out.",
    "tokens in, tokens out, cost": "What the answers took; “–” where no price is known.",
}
"""What the columns mean, as the page says it."""


def summary_of(scores: Sequence[Scored]) -> list[dict[str, Any]]:
    """A row for each variant, with the shares as texts; "–" where a set can't tell."""
    rows = []
    for variant in dict.fromkeys(score.variant for score in scores):
        own = [score for score in scores if score.variant == variant]
        told = [score for score in own if score.cited is not None]
        cost = [score.usage["cost"] for score in own if score.usage.get("cost") is not None]
        citations = sum(score.citations for score in own)
        rows.append(
            {
                "variant": variant,
                "answers": len(own),
                "right": _share(sum(score.right is True for score in own), len(own)),
                "not told": sum(score.right is None for score in own),
                "found in 5": _share(sum(0 < score.found <= 5 for score in told), len(told)),
                "found in 10": _share(sum(0 < score.found <= 10 for score in told), len(told)),
                "page cited": _share(sum(bool(score.cited) for score in told), len(told)),
                "citations that stand": _share(sum(s.standing for s in own), citations),
                "unbound figures": sum(score.unbound for score in own),
                "tokens in": sum(score.usage.get("input", 0) for score in own),
                "tokens out": sum(score.usage.get("output", 0) for score in own),
                "cost": f"{sum(cost):.4f}" if cost else "–",
            }
        )
    return rows


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f} ({part} of {whole})" if whole else "–"


def write_evaluation(
    folder: Path, job: str, name: str, scores: Sequence[Any], total: int
) -> tuple[list[Path], str]:
    """Write ``evaluation.html`` and ``evaluation.json``; the paths, and the table as Markdown.

    Raises `StorageError`.
    """
    rows = summary_of(scores)
    ordered = sorted(scores, key=lambda score: (score.variant, score.id))
    failures = [vars(score) for score in ordered if score.right is not True]
    page = _TEMPLATE.render(
        job=job, name=name, rows=rows, titles=TITLES, failures=failures, done=len(scores),
        signs=[vars(score) for score in ordered if score.right and SIGNS in score.why],
        meanings=MEANINGS,
        total=total,
    )  # fmt: skip
    data = {"job": job, "set": name, "variants": rows, "scores": [vars(s) for s in ordered]}
    paths = [folder / "evaluation.html", folder / "evaluation.json"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, (page, json.dumps(data, indent=1) + "\n"), strict=True):
            temporary = path.with_name(f".{path.name}.part")
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
    except OSError as error:
        raise StorageError(
            f"The scores can't be written to {folder}: {error.strerror or error}.",
            "Mend the folder, then run the same command again; no question is asked twice.",
        ) from error
    return paths, _table(rows)


def _table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [f"| variant | {' | '.join(TITLES)} |", f"|---|{'---|' * len(TITLES)}"]
    lines += [
        f"| {row['variant']} | {' | '.join(str(row[title]) for title in TITLES)} |" for row in rows
    ]
    return "\n".join(lines)
