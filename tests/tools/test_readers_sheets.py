"""XLS and XLSB: values, and the errors that calamine leaves out."""

from __future__ import annotations

import io
import struct

import xlwt
from hypothesis import given
from hypothesis import strategies as st

from deskwork.tools.readers import read_bytes
from deskwork.tools.readers.cell_errors import errors_of
from deskwork.tools.readers.source import Source
from tests.tools.hostile import zipped


def xls() -> bytes:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Ratios")
    for row, cells in enumerate([("Name", "Value"), ("Margin", 0.25)]):
        for column, value in enumerate(cells):
            sheet.write(row + 1, column + 1, value)
    sheet.row(4).set_cell_error(1, 0x2A)
    sheet.row(2).set_cell_error(3, 0x07)
    sheet.row(0).set_cell_error(0, 0x17)
    book.add_sheet("Umsätze €").write(0, 0, "Total")
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def record(kind: int, data: bytes) -> bytes:
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    return head + bytes([len(data)]) + data


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def xlsb() -> bytes:
    """A workbook in the binary format: a text, two numbers and an error."""

    def cell(column: int) -> bytes:
        return struct.pack("<II", column, 0)

    def row(number: int) -> bytes:
        return record(0, struct.pack("<IIHHBI", number, 0, 300, 0, 0, 0))

    sheet = record(129, b"") + record(148, struct.pack("<IIII", 0, 3, 0, 2)) + record(145, b"")
    sheet += row(0) + record(6, cell(0) + wide("Margin"))
    sheet += record(5, cell(1) + struct.pack("<d", 0.25)) + record(3, cell(2) + b"\x07")
    sheet += row(3) + record(3, cell(1) + b"\x2a") + record(146, b"") + record(130, b"")
    bundle = struct.pack("<II", 0, 1) + wide("rId1") + wide("Ratios")
    book = record(131, b"") + record(143, b"") + record(156, bundle) + record(144, b"")
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="bin" ContentType="application/vnd.ms-excel.sheet.binary.'
        'macroEnabled.main"/></Types>'
    )
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"

    def related(kind: str, target: str) -> bytes:
        entry = f'<Relationship Id="rId1" Type="{relation}/{kind}" Target="{target}"/>'
        return f'<Relationships xmlns="{package}">{entry}</Relationships>'.encode()

    return zipped(
        {
            "[Content_Types].xml": types.encode(),
            "_rels/.rels": related("officeDocument", "xl/workbook.bin"),
            "xl/workbook.bin": book + record(132, b""),
            "xl/_rels/workbook.bin.rels": related("worksheet", "worksheets/sheet1.bin"),
            "xl/worksheets/sheet1.bin": sheet,
        }
    )


def test_errors_of_an_xls_stand_in_their_cells() -> None:
    document = read_bytes(xls(), "ratios.xls")
    first, second = document.pages
    (table,) = first.tables
    assert table.rows == (
        ("#REF!",),
        ("", "Name", "Value"),
        ("", "Margin", "0.25", "#DIV/0!"),
        ("", "#N/A"),
    )
    assert table.numbers == (1, 2, 3, 5)
    assert table.cell_name(2, 3) == "D3"
    assert "3 cells hold an error instead of a value." in first.warnings
    assert second.title == "Umsätze €"
    assert not second.warnings


def test_an_xlsb_is_read_with_its_errors() -> None:
    (page,) = read_bytes(xlsb(), "ratios.xlsb").pages
    (table,) = page.tables
    assert table.rows == (("Margin", "0.25", "#DIV/0!"), ("", "#N/A"))
    assert table.numbers == (1, 4)
    assert page.title == "Ratios"
    assert "2 cells hold an error instead of a value." in page.warnings


@given(st.binary(max_size=400), st.sampled_from(["xls", "xlsb"]), st.integers(0, 2000))
def test_any_bytes_give_errors_or_none(noise: bytes, kind: str, at: int) -> None:
    whole = xls() if kind == "xls" else xlsb()
    for data in (noise, whole[:at] + noise + whole[at + len(noise) :]):
        found = errors_of(Source("a." + kind, kind, data))
        assert all(isinstance(row, int) for sheet in found.values() for row in sheet)


def test_kinds_without_such_errors_have_none() -> None:
    assert errors_of(Source("a.ods", "ods", b"anything")) == {}
