"""Text that fits into a picture: how wide it will be, about, and how to break and shorten it."""

from __future__ import annotations

import unicodedata

_NARROW, _WIDE = frozenset("iIjlftr.,:;|!'()[]{}/\\ -"), frozenset("mwMW@%")


def text_width(text: str, size: float) -> float:
    """About how wide a text is in a sans-serif font of some size, rather more than less."""
    return size * sum(_character_width(character) for character in text)


def fit_lines(text: str, size: float, width: float, lines: int = 2) -> list[str]:
    """A text in a few lines of some width: broken where words end, and shortened where it is still too long.

    >>> fit_lines("Saint Vincent and the Grenadines", 10, 100)
    ['Saint Vincent and', 'the Grenadines']
    >>> fit_lines("/people/person/places_lived./people/place_lived/location", 10, 100, lines=1)
    ['…ace_lived/location']
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split()) or "(no name)"
    fitted: list[str] = []
    # What a name that is a path tells is at its end: there the beginning is left out.
    backwards = text.count("/") > 1
    while text and len(fitted) < lines:
        if text_width(text, size) <= width:
            return [text, *fitted] if backwards else [*fitted, text]
        last = len(fitted) == lines - 1
        line, rest = _cut(text[::-1] if backwards else text, size, width, last)
        fitted.insert(0, line[::-1]) if backwards else fitted.append(line)
        text = rest[::-1] if backwards else rest
    return fitted


def _cut(text: str, size: float, width: float, last: bool) -> tuple[str, str]:
    """The first line of a text that is too long for it, and what is left; the last line ends in an ellipsis."""
    room = width - (text_width("…", size) if last else 0)
    end = 1
    while end < len(text) and text_width(text[: end + 1], size) <= room:
        end += 1
    if last:
        return text[:end].rstrip() + "…", ""
    breaks = [i for i in range(end // 3, end + 1) if text[i : i + 1] in (" ", "/", "_", "-")]
    if breaks:
        end = breaks[-1] if text[breaks[-1]] == " " else min(breaks[-1] + 1, end)
    return text[:end].rstrip(), text[end:].lstrip()


def _character_width(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in _NARROW:
        return 0.36
    if character in _WIDE:
        return 0.95
    return 0.7 if character.isupper() else 0.58
