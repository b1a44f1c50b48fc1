"""A pasted log as plain lines: decoded, without colours and containers' wrappings, unwrapped.

What stands around a log differs with the terminal, the container and the editor it came through.
Everything after this file sees what the engine wrote, a line a line, with the number that the line
has in the pasted text.
"""

import codecs
import html
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

# Some copies lose the escape character and keep the rest, so it need not be there.
COLOURS = re.compile(
    r"\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|\x1b\[[\d;?]{0,20}[A-Za-z]|\[\d{1,3}(?:;\d{1,3}){0,5}m"
)
UNSEEN = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060\0"), None) | {0xA0: " "}
MARKS = (  # byte-order marks, the longer ones first
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
MESSAGES = ("log", "message", "msg", "MESSAGE", "textPayload")  # a line's text in JSON logs
# How an entry of a log begins: a time, a level, a process, an engine, a C++ function, a container.
ENTRY = re.compile(
    r"\s{0,4}(?:\[?\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d|\d+\.\d\d\.\d{3}\.\d{3}|time=\d|"
    r"[A-Z][a-z]{2} [\d ]\d \d\d:|"
    r"(?:INFO|DEBUG|WARN\w*|ERROR|CRITICAL)[ :]|\(\w+ (?:\w+=\d+ )?pid=|\[T\w+-LLM\]|"
    r"(?:llama|llm|load|print|common|sched|ggml|srv|slot|main|build|system)_?\w*(?: +\w+)?: |"
    r"[\w.-]{1,60} +\| |\w{3,60}(?:Error|Exception): |Traceback |# |\| )"
)
MARGIN = re.compile(r"[\s>]{0,40}(?:[\w.-]{1,60} {1,20}\| {0,2})?[\s>]{0,40}")
ESCAPED = re.compile(r"&(?:#39|#x27|quot|gt|lt|amp);")
NARROWEST, WIDEST = 40, 400  # columns of a terminal that wraps
SEAM = re.compile(r"[A-Za-z][a-z]|\d[\d.,]|[.,]\d|[\s_/(=:,'\"-]|.\s")  # inside a word or a number


class Line(NamedTuple):
    """A line of a log: its number in the pasted text, from 1, and its text."""

    number: int
    text: str


def decode(data: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 as PowerShell's redirection writes it. Never raises."""
    for mark, name in MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    head = data[:4000]
    for offset, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) > 3 and head[offset::2].count(0) > len(head) // 3:
            return data.decode(name, "replace")
    return data.decode("utf-8", "replace")


def lines(text: str) -> list[Line]:
    """The lines of a pasted text, cleaned and, where a terminal or an editor wrapped it, whole."""
    if ESCAPED.search(text):  # copied out of the source of a page
        text = html.unescape(text)
    text = COLOURS.sub("", text).translate(UNSEEN)
    found = [
        Line(number, part)
        for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1)
        if line
        for part in _messages(line)
    ]
    margin = _margin([line.text for line in found if line.text.strip()])
    return _once(
        _unwrapped([Line(line.number, line.text[margin:]) for line in found] if margin else found)
    )


def _once(found):
    """Without a line that says word for word what the one before it does: two ways to one file."""
    beside = pairwise([Line(0, ""), *found])
    return [each for before, each in beside if each.text != before.text or not each.text.strip()]


def _margin(texts):
    """How many columns of quoting, indentation or a container's name all lines begin with."""
    if len(texts) < 2:
        return 0
    first, last = min(texts), max(texts)  # what these two share, all share
    pairs = enumerate(zip(first, last, strict=False))
    shared = next((at for at, (one, other) in pairs if one != other), len(first))
    return MARGIN.match(first[:shared]).end()


def _messages(line):
    """What a line says; of a progress bar every state, of a JSON log the message."""
    start = line.find("{")
    if '"' in line[start : start + 3] and line.rstrip().endswith("}"):
        try:
            fields = json.loads(line[start:])
        except (ValueError, RecursionError):
            fields = {}
        said = next((fields[name] for name in MESSAGES if isinstance(fields.get(name), str)), None)
        if said:
            return said.rstrip("\n").split("\n")
    return line.split("\r")


def _unwrapped(found):
    """Joined again what is one entry over several lines of one width.

    A terminal cuts at its last column, in the middle of a word; an editor cuts before the first
    word that does not fit. Either way no line is longer than the width, and what follows a cut does
    not begin as an entry does.
    """
    width = max((len(line.text) for line in found), default=0)
    pairs = list(pairwise(found))
    cut = [_is_cut(line, then, width) for line, then in pairs]
    full = [
        each and len(line.text) >= width - 1 for (line, _), each in zip(pairs, cut, strict=True)
    ]
    terminal = 3 * sum(full) >= 2 * sum(cut)
    cut = full if terminal else cut
    alone = sum(cut) == 1 and not SEAM.search(_seam(pairs[cut.index(True)]))
    if not NARROWEST <= width <= WIDEST or not any(full) or alone:
        return found
    joined = found[:1]
    for (line, then), each in zip(pairs, cut, strict=True):
        if not each:
            joined.append(then)
        elif terminal and len(line.text) == width:
            joined[-1] = Line(joined[-1].number, joined[-1].text + then.text)
        else:  # a space in the last column is lost when it is copied
            whole = f"{joined[-1].text.rstrip()} {then.text.lstrip()}"
            joined[-1] = Line(joined[-1].number, whole)
    return joined


def _is_cut(line, then, width):
    """Whether `then` goes on with `line`: it is no new entry, and its first word did not fit."""
    length, words = len(line.text), then.text.split(maxsplit=1)
    if not words or (length + 1 + len(words[0]) <= width and length < width):
        return False
    return then.number - line.number == 1 and bool(line.text.strip()) and not ENTRY.match(then.text)


def _seam(pair):
    return pair[0].text[-1:] + pair[1].text[:1]


def places(text: str, words: str, most: int) -> Iterator[int]:
    """Where some words stand in a text, `most` times at most: a plain search, linear in it."""
    place, count = text.find(words), 0
    while place >= 0 and count < most:
        yield place
        place, count = text.find(words, place + len(words)), count + 1
