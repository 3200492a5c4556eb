"""Document jobs a second time: what is known is not asked for again, and nothing is overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deskwork.flows import documents
from deskwork.flows.extracting import Documents
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.records_paths import check_outputs, family_of, output_path, outputs
from deskwork.tasks.states import OutOfBudget
from deskwork.tools.errors import WrongUse
from tests.flows.test_documents import SCHEMA, answered, extracted, invoice, number_in, run_of, says


def right(asked: Asked) -> Said:
    return says(answered(number_in(asked)))


def three() -> dict[str, str | bytes]:
    return {f"{n}.md": invoice(n) for n in (1, 2, 3)}


async def test_a_changed_folder_is_paid_for_where_it_changed(tmp_path: Path) -> None:
    _, first = await extracted(tmp_path, right, three())
    assert first is not None
    assert len(first.requests) == 3
    folder = tmp_path / "files"
    (folder / "1.md").unlink()
    (folder / "2.md").rename(folder / "other.md")
    data, second = await extracted(tmp_path, right, {"4.md": invoice(4)})
    assert second is not None
    assert [number_in(request) for request in second.requests] == [4]
    assert {row["file"]: row["state"] for row in data["files"]} == {
        "3.md": "done",
        "4.md": "done",
        "other.md": "done",
    }
    page = (tmp_path / "out" / "records.html").read_text()
    assert "other.md" in page
    assert "2.md" not in page


async def test_white_space_in_the_schema_costs_nothing_and_another_field_does(
    tmp_path: Path,
) -> None:
    await extracted(tmp_path, right, three())
    turned = dict(reversed(SCHEMA.items()))
    _, again = await extracted(tmp_path, right, {}, schema=turned)
    assert again is not None
    assert again.requests == []
    changed = {**SCHEMA, "description": "Bills of 2026"}
    _, other = await extracted(tmp_path, right, {}, schema=changed)
    assert other is not None
    assert len(other.requests) == 3


async def test_fresh_asks_again_and_another_budget_too(tmp_path: Path) -> None:
    await extracted(tmp_path, right, three())
    for how in ({"fresh": True}, {"budget": "max", "question": "Extract them better."}):
        _, model = await extracted(tmp_path, right, {}, **how)
        assert model is not None
        assert len(model.requests) == 3


async def test_a_smaller_limit_leaves_out_none_that_is_known(tmp_path: Path) -> None:
    await extracted(tmp_path, right, {"8.md": invoice(8), "9.md": invoice(9)})
    files: dict[str, str | bytes] = {f"{n}.md": invoice(n) for n in (1, 2, 3)}
    model, out = ScriptedModel(right), tmp_path / "out" / "records.xlsx"
    async with run_of(tmp_path, model, files, limits=Limits(max_steps=1)) as run:
        with pytest.raises(OutOfBudget):
            await Documents(run, out).work()
    data = json.loads(out.with_suffix(".json").read_text())
    states = {row["file"]: row["state"] for row in data["files"]}
    assert (states["8.md"], states["9.md"]) == ("done", "done")
    assert list(states.values()).count("not done") == 2


async def test_a_limit_of_tokens_lets_one_through_until_it_is_known_what_a_file_takes(
    tmp_path: Path,
) -> None:
    files: dict[str, str | bytes] = {f"{n}.md": invoice(n) for n in range(1, 9)}
    model, out = ScriptedModel(right), tmp_path / "out" / "records.xlsx"
    async with run_of(tmp_path, model, files, limits=Limits(max_steps=None, max_tokens=1)) as run:
        with pytest.raises(OutOfBudget):
            await Documents(run, out).work()
    assert len(model.requests) == 1


async def test_outputs_in_the_folder_are_no_inputs(tmp_path: Path) -> None:
    out = tmp_path / "files" / "records.xlsx"
    for _ in range(2):
        async with run_of(tmp_path, ScriptedModel(right), three(), out=out) as run:
            await Documents(run, out).work()
            assert run.answer == "3 records from 3 files: 3 done."
    assert sorted(path.name for path in out.parent.iterdir()) == [
        "1.md", "2.md", "3.md", "records.html", "records.json", "records.xlsx",
    ]  # fmt: skip


async def test_hidden_files_are_counted(tmp_path: Path) -> None:
    out = tmp_path / "out" / "records.xlsx"
    files = {"1.md": invoice(1), ".hidden.md": invoice(2)}
    async with run_of(tmp_path, ScriptedModel(right), dict(files)) as run:
        await Documents(run, out).work()
        assert run.answer == "1 record from 1 file: 1 done. 1 hidden file was left out."
    assert json.loads(out.with_suffix(".json").read_text())["left_out"] == 1


def test_where_outputs_may_go(tmp_path: Path) -> None:
    assert output_path(tmp_path / "a").name == "a.xlsx"
    assert output_path(tmp_path / "a.XLSX").name == "a.XLSX"
    with pytest.raises(WrongUse, match=r"must end in \.xlsx"):
        output_path(tmp_path / "a.pdf")
    with pytest.raises(WrongUse, match="is a folder"):
        output_path(tmp_path)

    (tmp_path / "in").mkdir()
    out, family = tmp_path / "r.xlsx", family_of([tmp_path / "in"])
    check_outputs(out, family, [])
    with pytest.raises(WrongUse, match="is one of the input files"):
        check_outputs(out, family, [tmp_path / "x" / ".." / "r.xlsx"])
    for place, text in zip(outputs(out), ("book", '{"rows": []}', "page"), strict=True):
        place.write_text(text)
        with pytest.raises(
            WrongUse, match="exists already, and no job over files of the same folder"
        ):
            check_outputs(out, family, [])
        place.unlink()
    out.write_text("book")
    out.with_suffix(".json").write_text(
        json.dumps({"job": "documents-1", "family": family})[:-1] + ',\n"records": []}\n'
    )
    check_outputs(out, family, [])
    assert family_of([tmp_path / "in" / "a.md", tmp_path / "in" / "b.md"]) == family_of(
        [tmp_path / "in"]
    )
    (tmp_path / "other").mkdir()
    with pytest.raises(WrongUse, match="exists already"):
        check_outputs(out, family_of([tmp_path / "other"]), [])


async def test_an_output_that_would_be_lost_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKWORK_HOME", str(tmp_path / "home"))
    folder = tmp_path / "in"
    folder.mkdir()
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    with pytest.raises(WrongUse, match="it is empty"):
        await documents([folder], schema)
    (folder / ".a.md").write_text(invoice(1))
    with pytest.raises(WrongUse, match="holds 1 hidden file"):
        await documents([folder], schema)
    book = folder / "own.xlsx"
    book.write_bytes(b"a workbook of somebody's")
    for paths in ([book], [folder]):
        with pytest.raises(WrongUse, match=r"one of the input files|exists already"):
            await documents(paths, schema, out=book)
    assert book.read_bytes() == b"a workbook of somebody's"
    assert not list((tmp_path / "home").glob("documents/*"))
