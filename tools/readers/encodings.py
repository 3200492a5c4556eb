"""The text of bytes in their real encoding: by mark, then UTF-8, then by a guess that is told."""

from __future__ import annotations

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
# The pages of Windows hold the pages of ISO in them, and more: what the guess calls ISO is read
# as Windows would.
_WIDER = {"latin_1": "cp1252", "iso8859_1": "cp1252", "iso8859_9": "cp1254", "ascii": "cp1252"}
_SAMPLE = 200_000  # bytes that are looked at for a guess
_WESTERN = frozenset("äöüßÄÖÜéèêàâçñóíáúÉÀ£€§°’‘“”–—…•®©½¼·«»")


def decode(data: bytes) -> tuple[str, str]:
    """The text and the encoding it was in.

    The guess prefers Windows' Western page where its special characters are the usual ones of
    Western text, since short texts tell a guesser too little.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace"), encoding
    wide = wide_without_mark(data)
    if wide:
        return data.decode(wide, errors="replace"), wide
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        # A file that was cut in the middle of a character is UTF-8 all the same.
        if error.start >= len(data) - 3 and error.start > 200:
            return data.decode("utf-8", errors="replace"), "utf-8"
    encoding = _guess(data[:_SAMPLE])
    return data.decode(encoding, errors="replace"), encoding


def wide_without_mark(data: bytes) -> str | None:
    """UTF-16 without its mark: every other byte of (mostly Western) text is NUL."""
    head = data[:4000]
    if len(head) < 8 or b"\0" not in head or len(data) % 2:
        return None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if odd > half * 0.6 and even < half * 0.05:
        return "utf-16-le"
    if even > half * 0.6 and odd < half * 0.05:
        return "utf-16-be"
    return None


def _guess(sample: bytes) -> str:
    western = sample.decode("cp1252", errors="replace")
    special = [letter for letter in western if ord(letter) > 127]
    usual = sum(letter in _WESTERN for letter in special)
    if usual >= 0.8 * len(special):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    if best is None:
        return "cp1252"
    return _WIDER.get(best.encoding, best.encoding)
