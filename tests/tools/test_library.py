import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deskwork.tools.documents import Document, Page
from deskwork.tools.errors import NotFound, StorageError, ToolError, WrongUse
from deskwork.tools.library import Library, Progress, fingerprint
from tests.tools.made import docx, pdf

COLLECT = """
import sys
from pathlib import Path
from deskwork.tools.library import Library
files = Library(Path(sys.argv[1])).collect([Path(sys.argv[2])]).files
print(len(files), sum(file.pages for file in files), {file.state for file in files})
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.pdf").write_bytes(pdf([["Net sales rose 7.8% in 2025"], ["Risk factors"]]))
    (folder / "sub" / "a.docx").write_bytes(docx(["Capital spending came to $64.8 million."]))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (folder / ".hidden.txt").write_text("hidden")
    return folder


def test_every_file_has_an_entry_and_failures_say_why(folder: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    collection = Library(tmp_path / "home").collect([folder], seen.append)
    assert [(file.name, file.state, file.pages) for file in collection.files] == [
        ("b.pdf", "ready", 2),
        ("broken.pdf", "failed", 0),
        ("sub/a.docx", "ready", 1),
    ]
    assert collection.files[1].reason.startswith("broken.pdf is broken")
    assert [(step.done, step.total) for step in seen] == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(ToolError, match=r"^broken\.pdf is broken"):
        collection.page("broken.pdf", 1)


def test_unchanged_files_are_not_read_again_and_changed_ones_are(
    folder: Path, tmp_path: Path
) -> None:
    library = Library(tmp_path / "home")
    library.collect([folder])
    again: list[Progress] = []
    library.collect([folder], again.append)
    assert [step.new for step in again] == [False, True, False]  # a broken file is tried again
    (folder / "copy.pdf").write_bytes((folder / "b.pdf").read_bytes())
    (folder / "b.pdf").write_bytes(pdf([["Net sales fell"]]))
    steps: list[Progress] = []
    collection = library.collect([folder], steps.append)
    assert {step.file.name: step.new for step in steps}["copy.pdf"] is False
    assert {step.file.name: step.new for step in steps}["b.pdf"] is True
    assert collection.page("b.pdf", 1).text == "Net sales fell"
    assert collection.page("copy.pdf", 1).text.startswith("Net sales rose")


def test_names_are_distinct_and_a_file_given_twice_is_one(tmp_path: Path) -> None:
    for year in ("2024", "2025"):
        (tmp_path / year).mkdir()
        (tmp_path / year / "report.txt").write_text(f"Report of {year}")
    given = [tmp_path / "2024", tmp_path / "2025", tmp_path / "2025" / "report.txt"]
    collection = Library(tmp_path / "home").collect(given)
    assert [file.name for file in collection.files] == ["2024/report.txt", "2025/report.txt"]
    assert collection.page("2025/report.txt", 1).text == "Report of 2025"
    with pytest.raises(NotFound, match=r"There is no file 'report\.txt' here.*2024/report\.txt"):
        collection.file("report.txt")


def test_the_fingerprint_needs_no_library(folder: Path, tmp_path: Path) -> None:
    wanted = hashlib.sha256((folder / "b.pdf").read_bytes()).hexdigest()
    prints = fingerprint([folder])
    assert prints[0] == ("b.pdf", wanted)
    assert prints == Library(tmp_path / "home").collect([folder]).fingerprint()
    with pytest.raises(WrongUse, match="There is no file or folder"):
        fingerprint([tmp_path / "missing"])


def test_two_processes_index_the_same_folder_at_once(folder: Path, tmp_path: Path) -> None:
    for number in range(20):
        (folder / f"{number}.pdf").write_bytes(pdf([[f"Page {p} of {number}"] for p in range(8)]))
    command = [sys.executable, "-c", COLLECT, str(tmp_path / "home"), str(folder)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len({output.split("{")[0] for output in outputs}) == 1
    with sqlite3.connect(tmp_path / "home" / "library.db") as database:
        assert database.execute("SELECT count(*) FROM documents").fetchone() == (22,)
        assert database.execute("SELECT count(*) FROM pages").fetchone() == (163,)
        database.execute("INSERT INTO page_words (page_words) VALUES ('integrity-check')")


def test_a_killed_process_leaves_no_half_document(tmp_path: Path) -> None:
    folder, home = tmp_path / "files", tmp_path / "home"
    folder.mkdir()
    for number in range(30):
        (folder / f"{number}.pdf").write_bytes(pdf([[f"Page {p} of {number}"] for p in range(9)]))
    command = [sys.executable, "-c", COLLECT, str(home), str(folder)]
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < deadline:
            if _documents(home) >= 1:
                break
        os.kill(process.pid, signal.SIGKILL) if process.poll() is None else None
        process.wait()
        with sqlite3.connect(home / "library.db") as database:
            counts = database.execute(
                "SELECT d.pages, (SELECT count(*) FROM pages p WHERE p.id >> 20 = d.id)"
                " FROM documents d"
            ).fetchall()
            assert counts
            assert all(told == stored for told, stored in counts)
    assert len(Library(home).collect([folder]).files) == 30


def _documents(home: Path) -> int:
    try:
        with sqlite3.connect(f"file:{home / 'library.db'}?mode=ro", uri=True) as database:
            return int(database.execute("SELECT count(*) FROM documents").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_an_error_while_a_document_is_stored_leaves_nothing_of_it(tmp_path: Path) -> None:
    library = Library(tmp_path)
    twice = Document("a.txt", "text", (Page(1, "one"), Page(1, "the same number")))
    with pytest.raises(StorageError, match="can't be used"):
        library.store.add("0" * 64, twice)
    with library.store.connect() as connection:
        assert library.store.document(connection, "0" * 64) is None
        assert connection.execute("SELECT count(*) FROM pages").fetchone() == (0,)


def test_a_newer_or_damaged_library_is_a_sentence(tmp_path: Path) -> None:
    Library(tmp_path / "new")
    with sqlite3.connect(tmp_path / "new" / "library.db") as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(StorageError, match="made by a newer Deskwork"):
        Library(tmp_path / "new")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "library.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StorageError, match="it can be deleted"):
        Library(tmp_path / "bad")


def test_an_older_library_is_built_anew(folder: Path, tmp_path: Path) -> None:
    Library(tmp_path / "home").collect([folder])
    with sqlite3.connect(tmp_path / "home" / "library.db") as database:
        database.execute("PRAGMA user_version = 0")
    collection = Library(tmp_path / "home").collect([folder])
    assert collection.search("net sales")[0].file == "b.pdf"


def test_a_search_names_the_row_and_its_cells(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Cash flow"
    for line in ([], ["", "(in millions)", 2025, 2024], ["", "Net income", 90, 80], []):
        sheet.append(line)
    sheet.append(["", "Purchases of property, plant and equipment", -64.8, -51])
    book.save(tmp_path / "flows.xlsx")
    collection = Library(tmp_path / "home").collect([tmp_path / "flows.xlsx"])
    (hit,) = collection.search("What was capex in 2025?")
    assert hit.row is not None
    assert hit.row.label == "Purchases of property, plant and equipment"
    assert [(c.column, c.value, c.cell) for c in hit.row.cells] == [
        ("2025", "-64.8", "C5"),
        ("2024", "-51", "D5"),
    ]
    for name in ("C5", "'Cash flow'!C5", "Cash flow!$C$5"):
        (found,) = collection.search(name)
        assert found.row is not None
        assert (found.row.label, found.row.cells[0].value) == (hit.row.label, "-64.8")
    assert collection.search("Other!C5") == []
    assert collection.search("Z99") == []
    row = "Purchases of property, plant and equipment | -64.8"
    assert collection.find_quote("flows.xlsx", 1, row).cell == "Cash flow!B5:C5"
    assert collection.find_quote("flows.xlsx", 1, "-64.8").cell == "Cash flow!C5"


def test_evidence_from_a_pdf_has_its_box(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf([["Some words first", "Net sales rose 7.8% in 2025"]]))
    collection = Library(tmp_path / "home").collect([tmp_path / "a.pdf"])
    whole = collection.find_quote("a.pdf", 1, "Net sales rose 7.8% in 2025").box
    part = collection.find_quote("a.pdf", 1, "rose 7.8%").box
    above = collection.find_quote("a.pdf", 1, "Some words first").box
    assert whole is not None
    assert part is not None
    assert above is not None
    assert whole[0] < part[0] < part[2] < whole[2]
    assert (whole[1], whole[3]) == (part[1], part[3])
    assert above[1] >= whole[3]
