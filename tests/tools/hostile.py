"""Files that are made to harm who reads them: bombs, loops, truncations, tricks with paths."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable

from PIL import Image

from tests.tools.made import docx, pdf, xlsx

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
LAUGHS = "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "ha ha ha ha">'
    for n in range(10)
)


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def with_part(package: bytes, name: str, part: bytes) -> bytes:
    """An Office package with one of its parts replaced or added."""
    with zipfile.ZipFile(io.BytesIO(package)) as old:
        members = {entry: old.read(entry) for entry in old.namelist()}
    return zipped(members | {name: part})


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


def bomb(megabytes: int = 1) -> bytes:
    return b"\0" * (megabytes * 1_000_000)


def nested_zip(depth: int) -> bytes:
    data = zipped({"end.txt": b"the end"})
    for _ in range(depth):
        data = zipped({"next.zip": data})
    return data


def wide_zip() -> bytes:
    """Sixteen archives of sixteen archives, as in the well-known bomb."""
    leaf = zipped({f"{n}.txt": bomb() for n in range(16)})
    middle = zipped({f"{n}.zip": leaf for n in range(16)})
    return zipped({f"{n}.zip": middle for n in range(16)})


def overlapping_zip() -> bytes:
    """Many entries of the directory that all lead to one member's bytes."""
    one = zipped({"a.txt": bomb(5)})
    at = one.index(b"PK\x01\x02")
    entry = one[at : one.index(b"PK\x05\x06")]
    count = 500
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(entry) * count, at, 0)
    return one[:at] + entry * count + end


def raw_pdf(objects: list[bytes]) -> bytes:
    """A PDF with these objects, numbered from 1; the first is its catalogue."""
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        start,
    )
    return bytes(out)


def stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n" % (len(data), more) + data + b"\nendstream"


def many_pages(count: int) -> bytes:
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >>"
    kids = b" ".join([b"3 0 R"] * count)
    pages = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count)
    return raw_pdf([b"<< /Type /Catalog /Pages 2 0 R >>", pages, page])


def one_page(content: bytes, more: bytes = b"") -> bytes:
    return raw_pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] /Contents 4 0 R %s >>" % more,
            content,
        ]
    )


def looping_pages() -> bytes:
    """A tree of pages in which a branch is its own child."""
    return raw_pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000 >>",
        ]
    )


def looping_form() -> bytes:
    """A drawing that draws itself."""
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F 4 0 R >> >>"
    return one_page(stream(b"/F Do", form), b"/Resources << /XObject << /F 4 0 R >> >>")


def deflated_pdf() -> bytes:
    return one_page(stream(zlib.compress(b" q Q" * 20_000_000, 9), b"/Filter /FlateDecode"))


def png_of(width: int, height: int) -> bytes:
    """The header of a PNG that claims this size."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + crc

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(b"\0" * 1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + body + chunk(b"IEND", b"")


def looping_tiff() -> bytes:
    """A TIFF whose second frame is followed by the first."""
    buffer = io.BytesIO()
    frames = [Image.new("L", (8, 8), shade) for shade in (0, 255)]
    frames[0].save(buffer, "TIFF", save_all=True, append_images=frames[1:])
    data = bytearray(buffer.getvalue())
    first = struct.unpack_from("<I", data, 4)[0]
    count = struct.unpack_from("<H", data, first)[0]
    second = struct.unpack_from("<I", data, first + 2 + 12 * count)[0]
    count = struct.unpack_from("<H", data, second)[0]
    struct.pack_into("<I", data, second + 2 + 12 * count, first)
    return bytes(data)


def cut(data: bytes, share: float) -> bytes:
    return data[: int(len(data) * share)]


def image(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise((200, 200), 80).convert("RGB").save(buffer, kind)
    return buffer.getvalue()


def deep_mail(depth: int) -> bytes:
    head, tail = b"", b""
    for number in range(depth):
        mark = b"b%d" % number
        head += b"Content-Type: multipart/mixed; boundary=%s\n\n--%s\n" % (mark, mark)
        tail = b"\n--%s--\n" % mark + tail
    return b"From: a@b.c\nMIME-Version: 1.0\n" + head + b"Content-Type: text/plain\n\nend" + tail


def sheet(xml: bytes) -> bytes:
    names = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    body = b"<worksheet %s><sheetData>%s</sheetData></worksheet>" % (names, xml)
    return with_part(xlsx({"One": [["x"]]}), "xl/worksheets/sheet1.xml", body)


DOCX, XLSX = docx(["Net sales rose."]), xlsx({"One": [["Net sales", 842.6]]})
PDF = pdf([["Net sales 842.6"], ["Risk factors"]])

# Name of the file, how it is made, and what its row says: "" where it is read
# all the same, None where it may be either.
HOSTILE: list[tuple[str, Callable[[], bytes], str | None]] = [
    ("empty.pdf", lambda: b"", "is empty"),
    ("header.pdf", lambda: b"%PDF-1.7\n", "is broken"),
    ("half.pdf", lambda: cut(PDF, 0.5), "is broken"),
    ("pages.pdf", lambda: many_pages(10_000), "10,000 pages"),
    ("tree.pdf", looping_pages, "is broken|is empty|pages"),
    ("form.pdf", looping_form, ""),
    ("stream.pdf", deflated_pdf, ""),
    ("sizes.pdf", lambda: one_page(stream(b""), b"/MediaBox [0 0 1e30 1e30]"), ""),
    ("length.pdf", lambda: one_page(b"<< /Length 99999999999 >>\nstream\nx\nendstream"), ""),
    ("bomb.zip", lambda: zipped({"a.txt": bomb(200)}), "bomb|unpacks"),
    ("wide.zip", wide_zip, ""),
    ("deep.zip", lambda: nested_zip(50), ""),
    ("overlap.zip", overlapping_zip, "unpacks|bomb"),
    ("many.zip", lambda: zipped({f"{n}.txt": b"x" for n in range(10_001)}), "files; at most"),
    ("half.zip", lambda: cut(zipped({"a.txt": image("PNG")}), 0.6), "is broken"),
    ("none.zip", lambda: zipped({}), "is empty"),
    ("paths.zip", lambda: zipped({"../../etc/passwd": b"root", "/abs.txt": b"x"}), ""),
    ("drive.zip", lambda: zipped({"C:\\Windows\\a.txt": b"x", "..\\b.txt": b"y"}), ""),
    ("bomb.docx", lambda: with_part(DOCX, "word/media/a.bin", bomb(300)), "bomb|unpacks"),
    (
        "laughs.docx",
        lambda: with_part(
            DOCX,
            "word/document.xml",
            f"<!DOCTYPE d [{LAUGHS}]><w:document {W}><w:body><w:p><w:r><w:t>&l9;</w:t></w:r></w:p>"
            "</w:body></w:document>".encode(),
        ),
        "is empty|is broken",
    ),
    (
        "external.docx",
        lambda: with_part(
            DOCX,
            "word/document.xml",
            f'<!DOCTYPE d [<!ENTITY f SYSTEM "file:///etc/passwd">]><w:document {W}><w:body><w:p>'
            "<w:r><w:t>&f;</w:t></w:r></w:p></w:body></w:document>".encode(),
        ),
        "is empty|is broken",
    ),
    (
        "deep.docx",
        lambda: with_part(
            DOCX,
            "word/document.xml",
            f"<w:document {W}><w:body>{'<w:sdt>' * 3000}{'</w:sdt>' * 3000}</w:body>"
            "</w:document>".encode(),
        ),
        "is broken|is empty",
    ),
    ("half.docx", lambda: cut(DOCX, 0.7), "is broken"),
    ("nothing.docx", lambda: zipped({"word/document.xml": b""}), "is broken"),
    ("xml.docx", lambda: with_part(DOCX, "word/document.xml", b"<w:document"), "is broken"),
    ("macro.docm", lambda: with_part(DOCX, "word/vbaProject.bin", b"Sub AutoOpen()"), ""),
    ("half.xlsx", lambda: cut(XLSX, 0.8), "is broken"),
    ("bomb.xlsx", lambda: with_part(XLSX, "xl/sharedStrings.xml", bomb(300)), "bomb|unpacks"),
    (
        "far.xlsx",
        lambda: sheet(
            b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576">'
            b'<c r="XFD1048576"><v>2</v></c></row>'
        ),
        "",
    ),
    ("row.xlsx", lambda: sheet(b'<row r="99999999999"><c r="A1"><v>1</v></c></row>'), None),
    ("cell.xlsx", lambda: sheet(b'<row r="1"><c r="!!"><v>1</v></c></row>'), "is broken"),
    ("string.xlsx", lambda: sheet(b'<row r="1"><c r="A1" t="s"><v>9</v></c></row>'), "is broken"),
    ("loop.xls", looping_xls, "sudden end|is given up"),
    ("half.xls", lambda: cut(looping_xls(), 0.4), "kind|is broken"),
    ("ole.msg", lambda: OLE + "__properties_version1.0".encode("utf-16-le") * 50, "is broken"),
    ("old.doc", lambda: OLE + "WordDocument".encode("utf-16-le") * 50, "before 2007"),
    ("locked.docx", lambda: OLE + "EncryptedPackage".encode("utf-16-le") * 50, "is locked"),
    ("parts.pptx", lambda: zipped({"ppt/presentation.xml": b"<p/>"}), "is broken"),
    ("size.png", lambda: png_of(60_000, 60_000), "pixels"),
    ("data.png", lambda: png_of(300, 300), "is broken"),
    ("half.png", lambda: cut(image("PNG"), 0.5), "is broken"),
    ("half.jpg", lambda: cut(image("JPEG"), 0.5), "is broken"),
    ("half.webp", lambda: cut(image("WEBP"), 0.5), "is broken"),
    ("half.tiff", lambda: cut(image("TIFF"), 0.5), "is broken"),
    ("loop.tiff", looping_tiff, ""),
    ("deep.html", lambda: b"<html><body>" + b"<div>" * 100_000 + b"deep", None),
    ("table.html", lambda: b"<html>" + b"<table><tr><td>" * 5_000 + b"in", None),
    ("laughs.xml", lambda: f"<!DOCTYPE d [{LAUGHS}]><d>&l9;</d>".encode(), ""),
    ("deep.json", lambda: b"[" * 200_000, ""),
    ("number.json", lambda: b'{"a": ' + b"9" * 1_000_000 + b"}", ""),
    ("quotes.csv", lambda: b'a,b\n"' + b"x,y\n" * 100_000, ""),
    ("columns.csv", lambda: b",".join([b"a"] * 200_000) + b"\n1", ""),
    ("line.txt", lambda: b"word " * 2_000_000, ""),
    ("groups.rtf", lambda: b"{\\rtf1 " + b"{" * 200_000 + b"deep", ""),
    ("code.rtf", lambda: b"{\\rtf1\\ansicpg99999 \\u-99999999 a\\'zz", ""),
    ("deep.eml", lambda: deep_mail(500), ""),
    ("headers.eml", lambda: b"From: a\nMIME-Version: 1.0\n" + b"X-Y: z\n" * 100_000, ""),
    ("codes.eml", lambda: b"MIME-Version: 1.0\nFrom: =?x?b?" + b"A" * 9_999 + b"?=\n\nhi", ""),
    ("noise.bin", lambda: bytes(range(256)) * 100, "of no kind"),
]  # fmt: skip
