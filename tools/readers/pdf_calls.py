"""pdfium's functions that are called for every object or word of a page, bound for speed.

The wrapper's own bindings check each pointer's type; for a filing of 600,000 text objects that
costs more than reading its text. These take plain addresses and keep the interpreter's lock.
"""

from __future__ import annotations

import ctypes
from ctypes import PYFUNCTYPE, c_float, c_int, c_size_t, c_uint, c_void_p
from typing import Any

from pypdfium2 import raw


def _quick(function: Any, result: Any, *arguments: Any) -> Any:
    return PYFUNCTYPE(result, *arguments)(ctypes.cast(function, c_void_p).value or 0)


def address(handle: Any) -> int:
    """The address behind a handle of the wrapper, to be given to the functions below."""
    return ctypes.cast(handle, c_void_p).value or 0


count_objects = _quick(raw.FPDFPage_CountObjects, c_int, c_void_p)
get_object = _quick(raw.FPDFPage_GetObject, c_void_p, c_void_p, c_int)
object_type = _quick(raw.FPDFPageObj_GetType, c_int, c_void_p)
object_bounds = _quick(
    raw.FPDFPageObj_GetBounds, c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p
)
object_matrix = _quick(raw.FPDFPageObj_GetMatrix, c_int, c_void_p, c_void_p)
count_segments = _quick(raw.FPDFPath_CountSegments, c_int, c_void_p)
get_segment = _quick(raw.FPDFPath_GetPathSegment, c_void_p, c_void_p, c_int)
segment_point = _quick(raw.FPDFPathSegment_GetPoint, c_int, c_void_p, c_void_p, c_void_p)
segment_type = _quick(raw.FPDFPathSegment_GetType, c_int, c_void_p)
segment_closes = _quick(raw.FPDFPathSegment_GetClose, c_int, c_void_p)
loose_box = _quick(raw.FPDFText_GetLooseCharBox, c_int, c_void_p, c_int, c_void_p)
char_angle = _quick(raw.FPDFText_GetCharAngle, c_float, c_void_p, c_int)
char_at_text = _quick(raw.FPDFText_GetCharIndexFromTextIndex, c_int, c_void_p, c_int)
char_object = _quick(raw.FPDFText_GetTextObject, c_void_p, c_void_p, c_int)
render_mode = _quick(raw.FPDFTextObj_GetTextRenderMode, c_int, c_void_p)
fill_color = _quick(
    raw.FPDFPageObj_GetFillColor, c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p
)
object_font = _quick(raw.FPDFTextObj_GetFont, c_void_p, c_void_p)
_font_name = _quick(raw.FPDFFont_GetBaseFontName, c_size_t, c_void_p, c_void_p, c_size_t)
map_error = _quick(raw.FPDFText_HasUnicodeMapError, c_int, c_void_p, c_int)


def name_of(font: int) -> str:
    """A font's name in the file, with the prefix that tells subsets apart."""
    room = ctypes.create_string_buffer(256)
    _font_name(font, ctypes.addressof(room), len(room))
    return room.value.decode("utf-8", "replace")


class Floats:
    """Room for numbers that pdfium writes, with the addresses it writes them to."""

    def __init__(self, count: int) -> None:
        self.values = (c_float * count)()
        start = ctypes.addressof(self.values)
        self.at = [start + index * ctypes.sizeof(c_float) for index in range(count)]


class Numbers:
    """The same for whole numbers, such as the four of a colour."""

    def __init__(self, count: int) -> None:
        self.values = (c_uint * count)()
        start = ctypes.addressof(self.values)
        self.at = [start + index * ctypes.sizeof(c_uint) for index in range(count)]
