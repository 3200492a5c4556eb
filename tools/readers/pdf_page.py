"""One page of a PDF: text in reading order with a box for each word, tables, and what it hides."""

from __future__ import annotations

from collections import Counter
from typing import Any

from deskwork.tools.documents import Box, Page, PagePicture, Table
from deskwork.tools.readers import ocr
from deskwork.tools.readers import pdf_calls as calls
from deskwork.tools.readers.doubts import is_doubtful
from deskwork.tools.readers.images import LONGEST_SIDE
from deskwork.tools.readers.pdf_columns import in_columns, text_of
from deskwork.tools.readers.pdf_glyphs import Fonts
from deskwork.tools.readers.pdf_rows import aligned_tables
from deskwork.tools.readers.pdf_rules import objects_of, ruled_tables
from deskwork.tools.readers.pdf_words import Frame, Word, frame_of, words_of
from deskwork.tools.readers.units import unit_of

_MAX_PICTURES = 50  # named for each page
_OCR_DOTS = 200  # an inch: what the OCR's models were made for
_LYING = 0.2  # of a page's words: with more, its text is not to be used
_MOST_SHOWN = 120  # characters of hidden text in a warning
_BROKEN = ("This page is broken and can't be read.",)


def read_page(pdf: Any, index: int, name: str, with_ocr: bool, fonts: Fonts) -> Page:
    """The page, or one with a warning if it is broken."""
    import pypdfium2

    try:
        page = pdf[index]
    except pypdfium2.PdfiumError:
        return Page(index + 1, "", warnings=_BROKEN)
    try:
        return _read(page, index + 1, name, with_ocr, fonts)
    except pypdfium2.PdfiumError:
        return Page(index + 1, "", warnings=_BROKEN)
    finally:
        page.close()


def _read(page: Any, number: int, name: str, with_ocr: bool, fonts: Fonts) -> Page:
    frame = frame_of(page)
    text_page = page.get_textpage()
    try:
        raw_text = text_page.get_text_range(errors="replace")
        words, text, sideways = words_of(text_page, raw_text, frame, fonts)
        ordered = in_columns(words) if sideways <= 0.5 else None
        if ordered:
            words, text = ordered, text_of(ordered)
        unmapped = _unmapped(text_page) if 0 < len(raw_text) < 400 else 0.0
    finally:
        text_page.close()
    boxes, level, upright = objects_of(page, frame)
    pictures = [PagePicture(f"picture {at}", box) for at, box in enumerate(boxes, 1)]
    tables: list[Table] = []
    ruled = ruled_tables(level, upright, words) if min(len(upright), len(level)) >= 2 else []
    found = [rows for rows, _ in ruled]
    if sideways <= 0.5:
        found += aligned_tables(words, [box for _, box in ruled])
    if found:
        unit = unit_of(text.split("\n"))
        tables = [Table(rows, unit=unit) for rows in found]
    warnings = []
    if frame.turned:
        warnings.append(f"The page is turned by {frame.turned} degrees; it is read as it is shown.")
    fonts.judge(page)
    lying = [word for word in words if fonts.lying(word.font, word.text)]
    doubtful = is_doubtful(text, unmapped) or len(lying) > _LYING * len(words)
    if not text:
        warnings.append("This page has no text layer: look at its picture.")
    elif lying:
        shown = " ".join(word.text for word in lying)[:_MOST_SHOWN]
        warnings.append(
            f"The text layer says other than the page shows in {len(lying)} words, whose letters "
            f"don't look like what they are said to be: “{shown}”. Look at its picture."
        )
    elif doubtful:
        warnings.append(
            "The text layer doesn't say what the page shows (a font without a map to Unicode): "
            "look at its picture."
        )
    if sideways > 0.5:
        warnings.append("The text runs sideways on this page.")
    warnings += _told_hidden(page, frame, words, boxes)
    if doubtful or not text:
        size = (round(page.get_width()), round(page.get_height()))
        whole = (0.0, 0.0, float(size[0]), float(size[1]))
        pictures.insert(0, PagePicture("the page", whole, size))
        if with_ocr:
            return _by_ocr(page, number, name, tuple(pictures[:_MAX_PICTURES]), warnings)
    return Page(
        number,
        text,
        tuple(tables),
        tuple(pictures[:_MAX_PICTURES]),
        tuple(warnings),
        boxes=tuple(word.box for word in words),
    )


def _by_ocr(
    page: Any, number: int, name: str, pictures: tuple[PagePicture, ...], warnings: list[str]
) -> Page:
    """The page as OCR reads its picture; a text layer that lies is dropped."""
    scale = min(_OCR_DOTS / 72, 4000 / max(page.get_size()))
    seen = ocr.read(page.render(scale=scale).to_pil().convert("RGB"), name)
    boxes = tuple(
        (round(a / scale, 1), round(b / scale, 1), round(c / scale, 1), round(d / scale, 1))
        for a, b, c, d in seen.boxes
    )
    kept = [warning for warning in warnings if "ook at its picture" not in warning]
    return Page(number, seen.text, (), pictures, (*kept, *seen.warnings), boxes=boxes)


def render(page: Any) -> Any:
    """The page as a Pillow image, its longest side `LONGEST_SIDE` pixels."""
    scale = LONGEST_SIDE / max(*page.get_size(), 1.0)
    image = page.render(scale=scale).to_pil()
    # Rounding may give one pixel more than asked for.
    size = (min(image.width, LONGEST_SIDE), min(image.height, LONGEST_SIDE))
    return image.crop((0, 0, *size)).convert("RGB")


def _unmapped(text_page: Any) -> float:
    """The share of characters whose font has no map; only short pages are worth the calls."""
    handle = calls.address(text_page.raw)
    count = text_page.count_chars()
    unmapped: int = sum(calls.map_error(handle, at) == 1 for at in range(count))
    return float(unmapped / max(1, count))


def _told_hidden(page: Any, frame: Frame, words: list[Word], pictures: list[Box]) -> list[str]:
    """Warnings about text that a person who looks at the page doesn't see."""
    why = Counter(word.hidden for word in words if word.hidden)
    if why["invisible"] and _covers(pictures, frame):
        # How scanners keep what they recognised: under the picture.
        return ["The text was made by OCR when the page was scanned; it may hold errors."]
    unseen = [word for word in words if word.hidden not in ("", "white")]
    white = [word for word in words if word.hidden == "white"]
    if white:
        unseen += _on_white(page, white)
    if not unseen:
        return []
    text = " ".join(word.text for word in unseen)
    if len(text) > _MOST_SHOWN:
        text = text[:_MOST_SHOWN] + "…"
    reasons = ", ".join(sorted({word.hidden for word in unseen}))
    return [f"{len(unseen)} words can't be seen on the page ({reasons}): “{text}”"]


def _covers(pictures: list[Box], frame: Frame) -> bool:
    area = sum((box[2] - box[0]) * (box[3] - box[1]) for box in pictures)
    return area > 0.5 * frame.width * frame.height


def _on_white(page: Any, words: list[Word]) -> list[Word]:
    """The white words that stand on nothing darker: what is drawn at their place is white."""
    image = page.render(scale=1).to_pil().convert("L")
    unseen = []
    for word in words:
        left, bottom, right, top = word.box
        area = (
            max(0, int(left)),
            max(0, int(image.height - top)),
            min(image.width, int(right) + 1),
            min(image.height, int(image.height - bottom) + 1),
        )
        if area[0] < area[2] and area[1] < area[3]:
            darkest, _ = image.crop(area).getextrema()
            if darkest > 245:
                unseen.append(word)
    return unseen
