import asyncio
from pathlib import Path

import pytest

from deskwork.tools.desk import DocumentDesk
from deskwork.tools.errors import ToolError
from deskwork.tools.library import Library
from deskwork.tools.registry import default_tools
from deskwork.tools.selection import fitting_tools
from tests.tools.workspace.boxes import Box, needs_bwrap

pytestmark = needs_bwrap


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_a_program_runs_and_its_files_stay(box: Box) -> None:
    first = box.python("import os\nprint(os.getcwd())\nopen('a.txt','w').write('one')")
    assert first.text == "Exit code 0.\n/workspace\nFiles:\nnew a.txt (3 bytes)"
    second = box.sh("cat a.txt; mkdir -p sub; mv a.txt sub/b.txt")
    assert second.text == "Exit code 0.\none\nFiles:\nnew sub/b.txt (3 bytes)\ngone a.txt"
    assert list(box.workspace.files) == ["sub/b.txt"]
    third = box.python("print(open('sub/b.txt').read())")
    assert third.workspace == {}
    assert third.data == {"exit_code": 0, "files": {}}


def test_a_failed_program_tells_its_error_and_keeps_its_files(box: Box) -> None:
    result = box.python("open('half','w').write('x')\nraise SystemExit(print('no') or 3)")
    assert result.text == "Exit code 3.\nno\nFiles:\nnew half (1 bytes)"
    assert not result.is_error
    assert "ZeroDivisionError" in box.python("1/0").text


def test_the_packages_for_data_are_there(box: Box) -> None:
    result = box.python(
        "import numpy, duckdb, openpyxl, pypdf, docx\n"
        "from matplotlib.figure import Figure\n"
        "f = Figure(); f.add_subplot().plot([1, 2]); f.savefig('p.png')\n"
        "print(duckdb.sql('select 40 + 2').fetchall()[0][0], numpy.arange(3).sum())"
    )
    assert "42 3\nFiles:\nnew p.png" in result.text
    assert result.images[0].startswith(b"\x89PNG")


def test_code_is_repaired_with_its_tests(box: Box) -> None:
    box.sh("printf 'def f(x):\\n    return x + 2\\n' > m.py")
    box.sh("printf 'from m import f\\nassert f(1) == 2\\n' > test_m.py")
    assert "AssertionError" in box.sh("python test_m.py").text
    assert box.sh("sed -i 's/+ 2/+ 1/' m.py && python test_m.py").text == (
        "Exit code 0.\nFiles:\nchanged m.py (27 bytes)"
    )


def test_documents_are_there_to_be_read(tmp_path: Path, box: Box) -> None:
    folder = tmp_path / "files"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.csv").write_text("a,b\n1,2\n")
    box.collection = Library(tmp_path / "home").collect([folder])
    assert "1,2" in box.sh("cat /documents/sub/a.csv").text
    result = box.sh("echo x > /documents/sub/a.csv; touch /documents/new; rm /documents/sub/a.csv")
    assert "Exit code 0" not in result.text
    assert (folder / "sub" / "a.csv").read_text() == "a,b\n1,2\n"
    assert not (folder / "new").exists()


def test_long_output_is_cut_in_the_middle(box: Box) -> None:
    text = box.python("print('a' * 30000 + 'b' * 30000)").text
    assert "[30,000 characters left out]" in text
    assert text.endswith("b")


def test_without_bubblewrap_the_error_says_what_to_install(
    box: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"needs the program bwrap.*apt-get install bubblewrap"):
        box.sh("true")


def test_a_workspace_is_a_jobs_and_only_where_somebody_said_so(tmp_path: Path) -> None:
    desk = DocumentDesk(Library(tmp_path / "home").collect([]))
    with pytest.raises(ToolError, match="no workspace outside a job"):
        asyncio.run(default_tools()["run_command"].run({"command": "true"}, desk))
    names = {tool.name for tool in fitting_tools(documents=True, web=True)}
    assert not names & {"run_python", "run_command"}
    names = {tool.name for tool in fitting_tools(documents=False, workspace=True)}
    assert names == {"calculate", "run_python", "run_command", "read_result"}


def test_what_a_killed_process_left_is_removed(box: Box) -> None:
    left = box.workspace.scratch / "999999999-abc"
    left.mkdir(parents=True)
    (left / "x").write_text("x")
    box.sh("true")
    assert not left.exists()
