from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from deskwork.tasks import database, lease
from deskwork.tasks.blobs import LocalBlobs
from deskwork.tasks.entries import BlobSegment, Draft
from deskwork.tasks.forks import verify
from deskwork.tasks.journal import Journal
from deskwork.tools.errors import JobHeld, NotFound, StorageError


@pytest.fixture
def journal(database_url: str | None, tmp_path: Path) -> Iterator[Journal]:
    opened = Journal.open(database_url, tmp_path / "home")
    yield opened
    opened.database.close()


def create(journal: Journal, job: str = "j") -> None:
    start = Draft("start", {"v": 1, "limits": {}})
    assert journal.create(job, flow="ask", key="k", title="t", start=start)


def said(text: str, conversation: int = 1) -> Draft:
    return Draft("user", {"n": text}, (text.encode(),), conversation)


def test_entries_come_back_as_they_were_appended(journal: Journal) -> None:
    create(journal)
    writer = journal.acquire("j")
    body = (b'{"a":"', BlobSegment("ab" * 32), b'"}')
    appended = writer.append([said("one"), Draft("tool", {"x": [1, None, "é"]}, body, 2)])
    read = journal.entries("j", after=0)
    assert read == appended
    assert [entry.seq for entry in journal.entries("j")] == [0, 1, 2]
    assert read[1].body == body


def test_a_job_can_be_made_once(journal: Journal) -> None:
    create(journal)
    start = Draft("start", {"v": 1, "limits": {}})
    assert not journal.create("j", flow="ask", key="k", title="t", start=start)
    with pytest.raises(NotFound, match="no job 'other'"):
        journal.job("other")


def test_a_second_runner_stops_with_a_clear_error(journal: Journal) -> None:
    create(journal)
    writer = journal.acquire("j")
    with pytest.raises(JobHeld, match=f"run by another process .*{os.getpid()}"):
        journal.acquire("j")
    writer.release("stopped")
    journal.acquire("j").append([said("after release")])


def test_whoever_lost_the_lease_can_not_append(journal: Journal) -> None:
    create(journal)
    first = journal.acquire("j")
    with journal.database.write() as connection:
        connection.execute(database.jobs.update().values(lease_until=0.0))
    second = journal.acquire("j")
    second.append([said("two")])
    with pytest.raises(JobHeld, match="taken over"):
        first.append([said("one")])
    assert [e.meta.get("n") for e in journal.entries("j", after=0)] == ["two"]


def test_two_writers_never_interleave_even_with_one_lease(journal: Journal) -> None:
    create(journal)
    writer = journal.acquire("j")
    twin = type(writer)(journal, "j", writer._holder, writer.next_seq, writer.head)
    writer.append([said("one")])
    with pytest.raises(JobHeld):
        twin.append([said("two")])
    assert verify(journal, LocalBlobs(Path("none")), "j").problem == ""


def test_appends_of_many_threads_to_many_jobs_are_all_kept(journal: Journal) -> None:
    for number in range(8):
        create(journal, f"j{number}")
    failures: list[BaseException] = []

    def work(job: str) -> None:
        try:
            writer = journal.acquire(job)
            for step in range(25):
                writer.append([said(str(step))])
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"j{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for number in range(8):
        assert len(journal.entries(f"j{number}")) == 26


def test_appending_reads_and_writes_nothing_of_earlier_entries(journal: Journal) -> None:
    create(journal)
    writer = journal.acquire("j")
    statements: list[str] = []
    sa.event.listen(
        journal.database.engine,
        "before_cursor_execute",
        lambda c, cursor, statement, *rest: statements.append(statement),
    )
    writer.append([said("x" * 1000)])
    touching = [s for s in statements if "entries" in s]
    assert len(touching) == 1
    assert touching[0].startswith("INSERT INTO entries")


@pytest.mark.parametrize("column", ["meta", "body", "kind", "digest"])
def test_verify_finds_an_altered_entry(journal: Journal, column: str) -> None:
    create(journal)
    journal.acquire("j").append([said("one"), said("two"), said("three")])
    blobs = LocalBlobs(Path("none"))
    assert verify(journal, blobs, "j").problem == ""
    value = {"meta": '{"n":"no"}', "kind": "system"}.get(column, b"other")
    table = database.entries
    with journal.database.write() as connection:
        connection.execute(table.update().where(table.c.seq == 2).values({column: value}))
    assert verify(journal, blobs, "j").problem == "entry 2 was altered"


def test_verify_finds_a_missing_entry_and_a_damaged_blob(journal: Journal, tmp_path: Path) -> None:
    create(journal)
    blobs = LocalBlobs(tmp_path / "blobs")
    name = blobs.put(b"picture")
    journal.acquire("j").append([said("one"), Draft("user", {}, (BlobSegment(name),), 1)])
    assert verify(journal, blobs, "j").blobs == 1
    path = tmp_path / "blobs" / name[:2] / name[2:]
    path.write_bytes(b"tampered")
    assert "damaged" in verify(journal, blobs, "j").problem
    path.unlink()
    assert "can't be read" in verify(journal, blobs, "j").problem
    with journal.database.write() as connection:
        connection.execute(database.entries.delete().where(database.entries.c.seq == 1))
    assert verify(journal, blobs, "j").problem == "entry 1 is missing"


def test_calls_are_staged_and_leave_with_their_entry(journal: Journal) -> None:
    create(journal)
    writer = journal.acquire("j")
    writer.start_call(4, 0)
    writer.stage_call(4, 1, Draft("tool", {"place": 1}, (b"r",), 1))
    staged = writer.open_calls(4)
    assert staged[0] is None
    assert staged[1] is not None
    assert staged[1].meta == {"place": 1}
    writer.append([said("r0"), said("r1")], finished=[(4, 0), (4, 1)])
    assert writer.open_calls(4) == {}


def test_a_database_of_a_newer_schema_is_left_alone(
    database_url: str | None, tmp_path: Path
) -> None:
    Journal.open(database_url, tmp_path / "home").database.close()
    engine = Journal.open(database_url, tmp_path / "home").database.engine
    with engine.begin() as connection:
        connection.execute(database.schema_version.update().values(version=99))
    engine.dispose()
    with pytest.raises(StorageError, match=r"schema version 99.*Install the newer Deskwork"):
        Journal.open(database_url, tmp_path / "home")


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_bytes(b"hello " * 1000)
    with pytest.raises(StorageError, match=r"not a database.*Restore the file"):
        Journal.open(None, tmp_path)


def test_a_full_disk_is_a_clear_error_and_loses_nothing(tmp_path: Path) -> None:
    journal = Journal.open(None, tmp_path)
    create(journal)
    writer = journal.acquire("j")
    writer.append([said("one")])
    with journal.database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    # Every connection of the pool is told to hold no more than there is.
    sa.event.listen(
        journal.database.engine,
        "checkout",
        lambda c, *rest: c.execute(f"PRAGMA max_page_count={pages}"),
    )
    with pytest.raises(StorageError, match=r"full.*Free some space.*what was recorded is kept"):
        writer.append([said("x" * 1_000_000)])
    journal.database.close()
    again = Journal.open(None, tmp_path)
    assert [e.meta.get("n") for e in again.entries("j", after=0)] == ["one"]
    assert verify(again, LocalBlobs(tmp_path), "j").problem == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX rights")
def test_a_read_only_home_is_a_clear_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    script = textwrap.dedent(
        f"""
        import os, pathlib
        from deskwork.tasks.journal import Journal
        from deskwork.tools.errors import StorageError
        # All modules are loaded before the rights go: the interpreter may be unreadable then.
        Journal.open(None, pathlib.Path({str(tmp_path)!r}) / "warm")
        if os.getuid() == 0:
            os.setgid(65534); os.setuid(65534)
        try:
            Journal.open(None, pathlib.Path({str(home)!r}) / "deeper")
        except StorageError as error:
            print(error)
        """
    )
    for folder in [home, *home.parents]:
        # Others may pass through to the test's folder, as they may to a real home.
        if folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(0o755)
    home.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Permission denied" in done.stdout, done.stderr
    assert "Mend the rights of the folder" in done.stdout


def test_a_killed_runner_frees_its_job_at_once_and_its_commits_last(
    database_url: str | None, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    journal = Journal.open(database_url, home)
    create(journal)
    script = textwrap.dedent(
        f"""
        import pathlib, sys
        from deskwork.tasks.entries import Draft
        from deskwork.tasks.journal import Journal
        writer = Journal.open({database_url!r}, pathlib.Path({str(home)!r})).acquire("j")
        n = 0
        while True:
            writer.append([Draft("user", {{"n": n}}, (b"x" * 500,), 1)])
            print(n, flush=True)
            n += 1
        """
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) >= 20:
            break
    with pytest.raises(JobHeld):
        journal.acquire("j")
    child.send_signal(signal.SIGKILL)
    confirmed = [int(line) for line in child.stdout if line.strip().isdigit()]
    child.wait()
    assert journal.job("j").state == "stopped"
    writer = journal.acquire("j")
    recorded = [entry.meta["n"] for entry in journal.entries("j", after=0)]
    last = max([20, *confirmed])
    assert recorded[: last + 1] == list(range(last + 1))
    assert len(recorded) <= last + 2
    writer.append([said("on")])
    assert verify(journal, LocalBlobs(tmp_path), "j").problem == ""


def test_a_holder_on_another_machine_is_believed_until_its_lease_lapses(journal: Journal) -> None:
    create(journal)
    journal.acquire("j")
    place = '{"machine":"elsewhere","pid":1,"started":"1"}'
    with journal.database.write() as connection:
        connection.execute(database.jobs.update().values(holder_place=place))
    with pytest.raises(JobHeld, match="on elsewhere"):
        journal.acquire("j")
    assert lease.LEASE_SECONDS < 60
    with journal.database.write() as connection:
        connection.execute(database.jobs.update().values(lease_until=1.0))
    journal.acquire("j")


def test_long_bodies_are_compressed_and_come_back_to_the_byte(journal: Journal) -> None:
    create(journal)
    text = '{"text":"' + "the same words again " * 500 + '"}'
    odd = "x" + "é" * 400
    journal.acquire("j").append([said(text), said(odd)])
    with journal.database.read() as connection:
        stored = connection.execute(sa.select(database.entries.c.body)).scalars().all()
    assert len(stored[1]) < len(text) / 10
    assert [entry.body[0] for entry in journal.entries("j", after=0)] == [
        text.encode(),
        odd.encode(),
    ]
    assert verify(journal, LocalBlobs(Path("none")), "j").problem == ""
