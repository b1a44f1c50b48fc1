"""YAML as programs write reports in it: block style, with plain or quoted words.

Not YAML as people write it: anchors, flow style with several entries, and text over several lines
are refused. It is read here so that a report needs no library.
"""

import json
import math
import re

PLAIN = {"null": None, "~": None, "": None, "true": True, "false": False}
FLOATS = {".inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
EMPTY = {"[]": [], "{}": {}}
NAME = re.compile(
    r"""^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#'"\[\]{}&*!|>%@`][^#]*?):(?:\s+(.*))?$"""
)
MOST_DEEP = 60


def read_yaml(text: str):
    """The document of a text. ValueError, with the line, where it is not of this kind."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare and not bare.startswith("#") and bare not in ("---", "..."):
            lines.append((number, len(line) - len(line.lstrip(" ")), _uncommented(bare)))
    if not lines:
        raise ValueError("The file is empty.")
    found, at = _block(lines, 0, lines[0][1], 0)
    if at < len(lines):
        raise ValueError(f"Line {lines[at][0]} is not read: “{lines[at][2][:60]}”.")
    return found


def _uncommented(bare):
    return bare if bare[0] in "\"'" else re.sub(r"\s+#.*$", "", bare)


def _block(lines, at, indent, deep):
    """The mapping, list or word that begins at a line; and the line after it."""
    if deep > MOST_DEEP:
        raise ValueError(f"Line {lines[at][0]} lies too deep.")
    return (_list if _is_item(lines[at][2]) else _mapping)(lines, at, indent, deep)


def _is_item(bare):
    return bare == "-" or bare.startswith("- ")


def _mapping(lines, at, indent, deep):
    found = {}
    while at < len(lines) and lines[at][1] == indent and not _is_item(lines[at][2]):
        number, _, bare = lines[at]
        named = NAME.match(bare)
        if not named:
            raise ValueError(f"Line {number} is neither a name nor an item: “{bare[:60]}”.")
        name, value = str(_word(named[1], number)), named[2]
        at += 1
        if value:
            found[name] = _word(value, number)
        elif at < len(lines) and (
            lines[at][1] > indent or (lines[at][1] == indent and _is_item(lines[at][2]))
        ):
            found[name], at = _block(lines, at, lines[at][1], deep + 1)
        else:
            found[name] = None
    return found, at


def _list(lines, at, indent, deep):
    found = []
    while at < len(lines) and lines[at][1] == indent and _is_item(lines[at][2]):
        number, _, bare = lines[at]
        rest = bare[1:].lstrip()
        inner = indent + len(bare) - len(rest)
        if not rest:
            at += 1
            if at < len(lines) and lines[at][1] > indent:
                value, at = _block(lines, at, lines[at][1], deep + 1)
            else:
                value = None
        elif NAME.match(rest) or _is_item(rest):
            # The first entry stands beside the dash, the others below it.
            lines[at] = (number, inner, rest)
            value, at = _block(lines, at, inner, deep + 1)
        else:
            value, at = _word(rest, number), at + 1
        found.append(value)
    return found, at


def _word(written, number):
    """What a word stands for."""
    if written[0] in "|>&*!":
        raise ValueError(f"Line {number} has “{written[:20]}”, which is not read here.")
    if written in EMPTY:
        return EMPTY[written].copy()
    if written[0] == '"':
        try:
            return json.loads(written)
        except ValueError:
            raise ValueError(f"Line {number} has a quote without its end.") from None
    if written[0] == "'":
        return written[1:-1].replace("''", "'")
    lower = written.lower()
    if lower in PLAIN:
        return PLAIN[lower]
    if lower in FLOATS:
        return FLOATS[lower]
    for kind in (int, float):
        try:
            return kind(written)
        except ValueError:
            continue
    return written
