import contextlib
import http.server
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deskwork.tasks.processes import Process, until
from deskwork.tools.errors import BadFile
from deskwork.tools.readers import Limits, read, read_bytes
from tests.tools.hostile import HOSTILE, OLE, W, looping_xls, nested_zip, with_part, zipped
from tests.tools.made import docx, pdf, xlsx

GOOD = {
    "a.pdf": pdf([["Net sales 842.6"], ["Risk factors"]]),
    "a.docx": docx(["Net sales rose."]),
    "a.xlsx": xlsx({"One": [["Net sales", 842.6]]}),
    "a.csv": b"name,value\nNet sales,842.6\n",
    "a.html": b"<html><body><table><tr><td>a</td><td>b</td></tr></table></body></html>",
}
HEADS = (b"", b"%PDF-1.4\n", b"PK\x03\x04", OLE, b"<html>", b"\xff\xfe")


@settings(max_examples=150, deadline=20_000, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(HEADS), st.binary(max_size=400), st.sampled_from(sorted(GOOD)))
def test_garbage_is_read_or_refused_but_never_breaks(head: bytes, tail: bytes, name: str) -> None:
    with contextlib.suppress(BadFile):
        read_bytes(head + tail, name)


@settings(max_examples=150, deadline=20_000, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(GOOD)), st.data())
def test_a_damaged_file_is_read_or_refused_but_never_breaks(name: str, data: st.DataObject) -> None:
    good = bytearray(GOOD[name])
    for _ in range(data.draw(st.integers(1, 6))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(good)))
    with contextlib.suppress(BadFile):
        read_bytes(bytes(good[:cut]), name)


def test_an_archive_that_unpacks_without_end_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"\0" * 1_000_000)
        archive.infolist()[0].file_size = 600_000_000  # as the directory of a bomb says
    with pytest.raises(BadFile, match="unpacks to more than"):
        read_bytes(buffer.getvalue(), "bomb.docx")


def test_entities_of_a_docx_are_not_expanded() -> None:
    body = (
        '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "boom"><!ENTITY b "&a;&a;&a;">]>'
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        "<w:body><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:body></w:document>"
    )
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(docx(["x"]))) as old,
        zipfile.ZipFile(buffer, "w") as new,
    ):
        for part in old.namelist():
            new.writestr(part, body if part == "word/document.xml" else old.read(part))
    with pytest.raises(BadFile):
        read_bytes(buffer.getvalue(), "entities.docx")


@pytest.mark.parametrize(("name", "make", "told"), HOSTILE, ids=[row[0] for row in HOSTILE])
def test_a_hostile_file_is_one_row(name: str, make: Callable[[], bytes], told: str | None) -> None:
    started = time.monotonic()
    refused = ""
    try:
        assert read_bytes(make(), name, limits=Limits(seconds=20)).pages
    except BadFile as error:
        refused = error.message
    assert told is None or bool(refused) == bool(told), refused
    if refused:
        assert refused.startswith(name)
        assert re.search(told or "", refused)
    # No reader crashed: whatever is wrong is told by a reader, or by a limit. Only the reader of
    # XLS ends itself when it passes the bound of memory.
    assert ("sudden end" in refused) == (name == "loop.xls")
    assert time.monotonic() - started < 60


def test_nobody_runs_short_of_hostile_files() -> None:
    assert len(HOSTILE) >= 40


def test_a_file_that_would_be_read_for_ever_is_given_up() -> None:
    started = time.monotonic()
    with pytest.raises(BadFile, match=r"loop\.xls is (broken|given up)"):
        read_bytes(looping_xls(), "loop.xls", limits=Limits(seconds=4))
    assert time.monotonic() - started < 20


def test_a_reader_whose_starter_was_killed_ends_by_itself() -> None:
    argv = [sys.executable, "-P", "-m", "deskwork.tools.readers.worker"]
    head = {
        "task": "read",
        "name": "a.xls",
        "passwords": [],
        "ocr": False,
        "bytes": 1000,
        "seconds": 1,
        "limits": asdict(Limits()),
    }
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as reader:
        assert reader.stdin is not None
        reader.stdin.write(json.dumps(head).encode() + b"\n")
        reader.stdin.flush()
        # The file never comes to its end, and nobody kills the reader.
        assert reader.wait(timeout=30) == -signal.SIGALRM


def test_a_reader_ends_with_the_process_that_asked_in_mid_file(tmp_path: Path) -> None:
    """Its starter is killed while it reads a file that never comes to its end."""
    starter = (
        "import os, subprocess, sys\n"
        "argv = [sys.executable, '-P', '-m', 'deskwork.tools.readers.worker', str(os.getpid())]\n"
        "child = subprocess.Popen(argv, stdin=int(sys.argv[1]), stdout=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    mine, its = os.pipe()
    try:
        command = [sys.executable, "-c", starter, str(mine)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, pass_fds=[mine]
        ) as parent:
            assert parent.stdout is not None
            reader = Process.of(int(parent.stdout.readline()))
            parent.kill()
        # The pipe is still open here, so only the death of its starter can end it.
        assert reader is not None
        assert until(lambda: not reader.lives(), 30)
    finally:
        os.close(mine)
        os.close(its)


def test_deep_html_ends() -> None:
    deep = (
        b"<html><body>" + b"<div>" * 5000 + b"deep" + b"</div>" * 5000 + b"<p>end</p></body></html>"
    )
    with contextlib.suppress(BadFile):
        read_bytes(deep, "deep.html")


def test_a_reader_reaches_no_network_and_starts_no_process() -> None:
    program = """
import io, socket, subprocess, sys
from deskwork.tools.readers import worker
sys.stdin = io.TextIOWrapper(io.BytesIO(b""))
worker.main()
refused = []
for attempt in (
    lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
    lambda: socket.getaddrinfo("localhost", 80),
    lambda: subprocess.run(["true"]),
):
    try:
        attempt()
    except PermissionError as error:
        refused.append(str(error))
print(refused, file=sys.stderr)
sys.exit(len(refused) != 3)
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_a_page_links_to_is_not_fetched() -> None:
    asked: list[str] = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)

    server = http.server.HTTPServer(("127.0.0.1", 0), Listener)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        at = f"http://127.0.0.1:{server.server_port}"
        html = f"""<!DOCTYPE html SYSTEM "{at}/dtd"><html><head><link rel=stylesheet href="{at}/c">
        </head><body><img src="{at}/i"><iframe src="{at}/f"></iframe><p>Text</p></body></html>"""
        mail = f"From: a@b.c\nMIME-Version: 1.0\nContent-Type: text/html\n\n{html}"
        xml = f'<!DOCTYPE w [<!ENTITY e SYSTEM "{at}/e">]><w:document {W}><w:body><w:p><w:r><w:t>'
        xml += "a&e;</w:t></w:r></w:p></w:body></w:document>"
        for name, data in (
            ("a.html", html.encode()),
            ("a.eml", mail.encode()),
            ("a.docx", with_part(docx(["x"]), "word/document.xml", xml.encode())),
        ):
            with contextlib.suppress(BadFile):
                read_bytes(data, name)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert asked == []


def test_a_limit_of_memory_and_one_of_output_cost_one_file() -> None:
    small = Limits(output_bytes=10_000)
    with pytest.raises(BadFile, match=r"long\.txt gives more text than 10,000 bytes"):
        read_bytes(b"word " * 10_000, "long.txt", limits=small)
    with pytest.raises(BadFile, match=r"^big\.txt "):
        read_bytes(b"w" * 60_000_000, "big.txt", limits=Limits(memory_bytes=250_000_000))
    assert read_bytes(b"The next one is read.", "next.txt").pages


def test_a_large_file_is_refused_unopened(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"x" * 2000)
    with pytest.raises(BadFile, match=r"^large\.txt is larger than 1,000 bytes"):
        read(path, limits=Limits(file_bytes=1000))


def test_small_files_share_a_process_and_threads_have_their_own() -> None:
    names = [f"{number}.txt" for number in range(40)]
    with ThreadPoolExecutor(4) as pool:
        texts = list(
            pool.map(lambda name: read_bytes(f"I am {name}".encode(), name).pages[0].text, names)
        )
    assert texts == [f"I am {name}" for name in names]


def test_paths_of_a_zip_lead_nowhere() -> None:
    data = zipped({"../../etc/passwd": b"root", "C:\\Windows\\a.txt": b"x", "ok/b.txt": b"y"})
    document = read_bytes(data, "paths.zip")
    assert [part["file"] for part in document.metadata["parts"]] == [
        "etc/passwd",
        "Windows/a.txt",
        "ok/b.txt",
    ]
    assert any("2 paths lead out of the folder" in warning for warning in document.warnings)


def test_files_in_files_end_at_a_depth() -> None:
    document = read_bytes(nested_zip(50), "deep.zip")
    assert any("files deep; it is not opened" in warning for warning in document.warnings)


def test_macros_are_told_and_not_run() -> None:
    data = with_part(docx(["Text"]), "word/vbaProject.bin", b"Sub AutoOpen()")
    assert read_bytes(data, "a.docm").warnings == ("The file holds macros; they were not run.",)
