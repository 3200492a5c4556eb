"""What a model reads from a picture: evidence with its cut-out, and labelled as that."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from deskwork.tasks.claims import check
from deskwork.tasks.ledger import Ledger
from deskwork.tools.desk import DocumentDesk
from deskwork.tools.errors import ToolError
from deskwork.tools.figure_tools import bind_figure
from deskwork.tools.library import Library
from deskwork.tools.picture_evidence import cite_picture
from deskwork.tools.tool import Evidence


def desk_of(folder: Path) -> DocumentDesk:
    chart = Image.new("RGB", (1000, 800), "white")
    ImageDraw.Draw(chart).rectangle((500, 400, 900, 700), fill=(200, 30, 30))
    chart.save(folder / "chart.png")
    return DocumentDesk(Library(folder / "home").collect([folder / "chart.png"]))


SAID = "Net sales 2025: $842.6 million"
PLACE = {"left": 0.5, "top": 0.5, "right": 0.9, "bottom": 0.875}


async def test_the_cut_out_is_shown_and_the_figure_labelled(tmp_path: Path) -> None:
    desk = desk_of(tmp_path)
    given = {"file": "chart.png", "page": 1, "text": SAID, **PLACE}
    result = await cite_picture.run(given, desk)
    (item,) = result.evidence
    shown = Image.open(io.BytesIO(result.images[0])).convert("RGB")
    assert shown.getpixel((shown.width // 2, shown.height // 2)) == (200, 30, 30)
    assert shown.width < 600
    assert Evidence.from_json({**vars(item), "region": list(item.region or ())}) == item
    both = DocumentDesk(desk.collection, {item.id: item})
    more = {"evidence": item.id, "value": "842.6", "label": "Net sales", "period_end": "2025"}
    bound = await bind_figure.run(more, both)
    (figure,) = bound.figures
    assert (figure.status, figure.printed()) == ("pictured", "$842.6 million")
    ledger = Ledger(desk.collection, {item.id: item}, {figure.id: figure})
    found = check(f"Net sales were $842.6 million in 2025 [{item.id}].", ledger)
    assert found.problems == []
    wrong = check(f"Net sales were $862.6 million in 2025 [{item.id}].", ledger)
    assert "does not stand" in wrong.problems[0]
    (tmp_path / "chart.png").write_bytes(b"")
    again = Ledger(Library(tmp_path / "home").collect([tmp_path / "chart.png"]), {item.id: item})
    assert "not found again" in again.problem(item.id)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"right": 0.4}, "empty or too small"),
        ({"right": 0.501, "bottom": 0.501}, "empty or too small"),
        ({"right": 1.4}, "less than or equal to 1"),
        ({"page": 7}, "has no page 7"),
        ({"file": "none.png"}, "There is no file"),
    ],
)
async def test_a_place_that_is_none(
    tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    given = {"file": "chart.png", "page": 1, "text": SAID, **PLACE, **change}
    with pytest.raises(ToolError, match=problem):
        await cite_picture.run(given, desk_of(tmp_path))
