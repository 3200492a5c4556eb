"""A page for the review of records: each field beside the words of its source, marked.

The page holds everything itself. Pictures of pages are shown for the records with problems, so
that the page stays small enough to open for thousands of files.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterator, Sequence
from typing import Any

import jinja2
from PIL import Image

from deskwork.tasks.records_spool import Records, Spool
from deskwork.tools.collection import Collection
from deskwork.tools.errors import ToolError

PICTURES = 150
"""Pictures of pages on one page, at most."""
_AROUND = 160
_TEMPLATE = jinja2.Environment(autoescape=True).from_string(
    """<!doctype html><html lang="en"><meta charset="utf-8">
<title>Records of {{ records.job }}</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:1100px;color:#1d2530}
table{border-collapse:collapse;width:100%;margin:.4rem 0 1rem}
td,th{border-bottom:1px solid #d9dee5;padding:.3rem .6rem;text-align:left;vertical-align:top}
mark{background:#ffe27a}.bad{color:#a32020}.src{color:#5b6675;font-size:13px}
section{border:1px solid #d9dee5;border-radius:6px;padding:1rem;margin:1rem 0}
img{max-width:100%;border:1px solid #d9dee5}h2{margin:.2rem 0}
</style>
<h1>Records of {{ records.job }}</h1>
<p>{{ records.found|length }} records from {{ records.files|length }} files; state:
{{ records.state }}.
Not reviewed until a person has reviewed it.</p>
<h2>Files</h2><table><tr><th>File<th>State<th>Reason</tr>
{% for row in records.files %}<tr><td>{{ row.file }}
<td{% if row.state != "done" %} class="bad"{% endif %}>{{ row.state }}
<td>{{ row.reason }}</tr>{% endfor %}</table>
{% for row in shown %}<section id="r{{ loop.index }}"><h2>{{ row.file }}</h2>
<p class="src">{{ row.document }}
{% if row.pages %}pages {{ row.pages|join(", ") }}{% endif %}</p>
{% for problem in row.problems %}<p class="bad">{{ problem }}</p>{% endfor %}
<table><tr><th>Field<th>Value<th>Source</tr>
{% for field in row.fields %}<tr><td>{{ field.pointer }}<td>{{ field.value }}<td class="src">
{% if field.passage %}page {{ field.page }}: {{ field.passage }}
{% else %}<span class="bad">no evidence</span>{% endif %}</tr>{% endfor %}</table>
{% for picture in row.pictures %}<img alt="page {{ picture.page }}" src="{{ picture.url }}">
{% endfor %}</section>{% endfor %}</html>
"""
)


def review_page(records: Records, collection: Collection) -> Iterator[str]:
    """The page for a document job, piece by piece; records with problems come first."""
    return _TEMPLATE.generate(records=records, shown=_shown(records.found, collection))


def _shown(found: Spool, collection: Collection) -> Iterator[dict[str, Any]]:
    left = PICTURES
    for troubled in (True, False):
        for row in found:
            if bool(row["problems"]) is not troubled:
                continue
            pages: dict[int, list[str]] = {}
            for evidence in row["evidence"].values():
                pages.setdefault(evidence["page"], []).append(evidence["quote"])
            chosen = (sorted(pages.items()) or [(n, []) for n in row["pages"][:1]])[:left]
            pictures = _pictures(collection, row["file"], chosen) if troubled else []
            left -= len(pictures)
            yield {**row, "fields": _fields(row, collection), "pictures": pictures}


def _fields(row: dict[str, Any], collection: Collection) -> list[dict[str, Any]]:
    from deskwork.tasks.extracted import leaves

    fields = []
    for pointer, value in leaves(row["record"]):
        evidence = row["evidence"].get(pointer)
        fields.append(
            {
                "pointer": pointer,
                "value": value,
                "page": evidence["page"] if evidence else None,
                "passage": _passage(collection, row["file"], evidence) if evidence else None,
            }
        )
    return fields


def _passage(collection: Collection, file: str, evidence: dict[str, Any]) -> Any:
    from markupsafe import Markup

    quote = evidence["quote"]
    try:
        text = collection.page(file, evidence["page"]).text
    except ToolError:
        text = quote
    start = max(text.find(quote), 0)
    before = text[max(0, start - _AROUND) : start]
    after = text[start + len(quote) : start + len(quote) + _AROUND]
    parts = (html.escape(before), html.escape(quote), html.escape(after))
    return Markup("{}<mark>{}</mark>{}").format(*(Markup(part) for part in parts))


def _pictures(
    collection: Collection, file: str, pages: Sequence[tuple[int, list[str]]]
) -> list[dict[str, Any]]:
    """Pictures of pages, (number, quotes on it), with the quotes marked."""
    found = []
    for page, quotes in pages:
        try:
            data = collection.picture(file, page, quotes)
            picture = Image.open(io.BytesIO(data)).convert("RGB")
        except (ToolError, OSError):
            continue
        picture.thumbnail((1000, 1000))
        small = io.BytesIO()
        picture.save(small, "JPEG", quality=70)
        url = "data:image/jpeg;base64," + base64.b64encode(small.getvalue()).decode()
        found.append({"page": page, "url": url})
    return found
