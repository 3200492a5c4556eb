import contextlib
import io
import json
import signal
import struct
import subprocess
import sys
import time
import zipfile
from dataclasses import asdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deskwork.tools.errors import BadFile
from deskwork.tools.readers import Limits, read_bytes
from tests.tools.made import docx, pdf, xlsx

GOOD = {
    "a.pdf": pdf([["Net sales 842.6"], ["Risk factors"]]),
    "a.docx": docx(["Net sales rose."]),
    "a.xlsx": xlsx({"One": [["Net sales", 842.6]]}),
    "a.csv": b"name,value\nNet sales,842.6\n",
    "a.html": b"<html><body><table><tr><td>a</td><td>b</td></tr></table></body></html>",
}
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
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


def looping_xls() -> bytes:
    """An XLS whose chain of sectors leads back to itself: its library would follow it for ever."""
    sector, free = 512, 0xFFFFFFFF
    header = bytearray(sector)
    header[:8] = OLE
    struct.pack_into("<HHHHH", header, 24, 0x3E, 3, 0xFFFE, 9, 6)
    struct.pack_into("<IIIIIIIII", header, 44, 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0, 0)
    struct.pack_into("<109I", header, 76, *([0] + [free] * 108))
    table = struct.pack("<128I", 0xFFFFFFFD, 1, *[free] * 126)  # sector 1 is followed by sector 1
    root = "Workbook".encode("utf-16-le").ljust(sector, b"\0")
    return bytes(header) + table + root


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


def test_deep_html_ends() -> None:
    deep = (
        b"<html><body>" + b"<div>" * 5000 + b"deep" + b"</div>" * 5000 + b"<p>end</p></body></html>"
    )
    with contextlib.suppress(BadFile):
        read_bytes(deep, "deep.html")
