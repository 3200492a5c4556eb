"""Lists of a DOCX: each is a numbering of its own, so that every list begins at its own number.

python-docx has no numbering of lists; its part is written here (ECMA-376 part 1, 17.9).
"""

from __future__ import annotations

from typing import Any

from deskwork.tasks.publishing.blocks import Block

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_LEVELS = 9
"""Levels that a numbering has; what is nested deeper stands at the last."""
_STEP = 360
"""How far a level is moved in, in twentieths of a point."""
_BULLETS = ("•", "–", "▪")
_ORDINALS = ("decimal", "lowerLetter", "lowerRoman")


class Lists:
    """The lists of one document."""

    def __init__(self, document: Any) -> None:
        self._numbering = document.part.numbering_part.element
        self._kinds: dict[bool, int] = {}
        self._made: dict[int, int] = {}

    def put(self, paragraph: Any, item: Block) -> None:
        """Make a paragraph an item of its list."""
        level = min(item.level, _LEVELS - 1)
        if item.group not in self._made:
            self._made[item.group] = self._list(item, level)
        properties = paragraph._p.get_or_add_pPr()
        numbering = properties.get_or_add_numPr()
        numbering.get_or_add_ilvl().val = level
        numbering.get_or_add_numId().val = self._made[item.group]

    def _list(self, first: Block, level: int) -> int:
        number = self._numbering.add_num(self._kind(ordered=first.ordered))
        for at in range(_LEVELS):
            override = number.add_lvlOverride(ilvl=at)
            override.add_startOverride(first.number if at == level and first.ordered else 1)
        return int(number.numId)

    def _kind(self, *, ordered: bool) -> int:
        """The form that all lists of a kind have."""
        from docx.oxml import parse_xml

        if ordered not in self._kinds:
            used = self._numbering.xpath("w:abstractNum/@w:abstractNumId")
            name = max((int(one) for one in used), default=0) + 1
            levels = "".join(_level(at, ordered=ordered) for at in range(_LEVELS))
            made = parse_xml(
                f'<w:abstractNum xmlns:w="{_W}" w:abstractNumId="{name}">'
                f'<w:multiLevelType w:val="multilevel"/>{levels}</w:abstractNum>'
            )
            # All forms stand before the first list (17.9.17).
            self._numbering.xpath("w:num")[0].addprevious(made)
            self._kinds[ordered] = name
        return self._kinds[ordered]


def indent_of(level: int) -> int:
    """How far the words of a level are moved in, in English Metric Units (635 to a twentieth)."""
    return (min(level, _LEVELS - 1) + 1) * _STEP * 635


def _level(at: int, *, ordered: bool) -> str:
    form = _ORDINALS[at % len(_ORDINALS)] if ordered else "bullet"
    text = f"%{at + 1}." if ordered else _BULLETS[at % len(_BULLETS)]
    return (
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{text}"/><w:lvlJc w:val="left"/>'
        f'<w:pPr><w:ind w:left="{(at + 1) * _STEP}" w:hanging="{_STEP}"/></w:pPr></w:lvl>'
    )
