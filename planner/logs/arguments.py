"""The arguments an engine was started with, where a log prints them: names and values.

Engines print them as a dictionary (`non-default args: {…}`), as an object's text (`Namespace(…)`,
`ServerArgs(…)`), as a list of settings (`with config: model='…', …`) and as the command that
somebody typed. Only the outermost names count: what is in a nested bracket belongs to a draft
model, a compiler or a tokenizer, and gets its owner's name in front.
"""

import re
from typing import NamedTuple

from planner.logs.clean import places

MOST_READ = 20_000  # characters of one list of arguments
MOST_LISTS = 200
MOST_FLAGS = 500
DEEPEST = 4
# Where a list of arguments begins: whose it is, its kind, and the words before it.
OPENINGS = (
    ("vllm", "config", "with config: "),
    ("vllm", "arguments", "non-default args: "),
    ("vllm", "arguments", "Namespace"),
    ("vllm", "arguments", "EngineArgs"),
    ("sglang", "arguments", "ServerArgs"),
    ("tensorrt-llm", "arguments", "LlmArgs"),
)
LISTED = re.compile(r"[({]['\"]?\w|\w+=")
COMMANDS = (
    ("vllm", "vllm serve"),
    ("vllm", "vllm.entrypoints.openai.api_server"),
    ("atom", "atom.entrypoints.openai_server"),
    ("sglang", "sglang.launch_server"),
    ("sglang", "sglang serve"),
    ("tensorrt-llm", "trtllm-serve serve"),
    ("tensorrt-llm", "trtllm-serve"),
    *(("llama.cpp", f"llama-{name}") for name in ("server", "cli", "bench")),
    ("llama.cpp", "ollama runner"),
    ("llama.cpp", "ollama.exe runner"),
)
# A flag beside any command that is known: in a container's settings, or in what somebody tells.
# One in backticks is the engine's advice; a word in capitals stands for a value.
FLAG = re.compile(r"--([a-z][\w-]{2,40})(?=[\s=,\"']|$)[\"']?(?:=|, ?| {1,4})?")
VALUE = re.compile(r"[\"']?([^\s'\"`,-][^\s'\"`,]{0,200})")
OPEN, CLOSE = "([{", ")]}"


class Argument(NamedTuple):
    """One argument: whose, its kind, its name, its value as text, and its place.

    kind: config, arguments, command, or flag, of which nothing tells whose it is. A nested name has
    its owner in front: speculative_config.method. Dashes are underscores.
    """

    engine: str
    kind: str
    name: str
    value: str
    place: int


def arguments(text: str) -> list[Argument]:
    """Every argument that a cleaned log states, in the order of the text. Never raises."""
    found = []
    for engine, kind, words in OPENINGS:
        for place in places(text, words, MOST_LISTS):
            start = place + len(words)
            end = text.find("\n", start)
            end = min(end if end >= 0 else len(text), start + MOST_READ)
            listed = _listed(text, start, end) if LISTED.match(text, start) else ()
            found += [Argument(engine, kind, *each) for each in listed]
    for engine, words in COMMANDS:
        for place in places(text, words, MOST_LISTS):
            typed = _typed(text, place + len(words), model_first=engine != "llama.cpp")
            found += [Argument(engine, "command", *each) for each in typed]
    typed = {each.place for each in found}
    for place in places(text, "--", MOST_FLAGS):
        match = FLAG.match(text, place)
        if match and place not in typed and not re.match(r"[\w`-]", text[place - 1 : place]):
            found += [Argument("", "flag", *each) for each in _flagged(text, match)]
    return sorted(found, key=lambda each: each.place)


def _flagged(text, match):
    """Names, values and places of one flag."""
    rest = text[match.end() : match.end() + MOST_READ].split("\n", 1)[0]
    opened = re.match(r"['\"]?\{", rest)
    value = VALUE.match(rest)
    if opened:
        yield from _entry(f"{match[1]}: {rest[opened.end() - 1 :]}", match.start())
    elif not value:
        yield match[1].replace("-", "_"), "True", match.start()
    elif not re.fullmatch(r"[A-Z_]+", value[1]):
        yield match[1].replace("-", "_"), value[1].rstrip(".;:)]"), match.start()


def _listed(text, start, end):
    """Names, values and places of a list with or without brackets around it."""
    opened = re.match(r"\w{0,40}[({]", text[start:end])
    first = start + opened.end() if opened else start
    entries = list(_entries(text, first, end))
    closed = (
        not opened or text[first + sum(len(each) + 1 for _, each in entries) - 1 :][:1] in CLOSE
    )
    # The last figure of a list that is cut off may be cut off itself.
    for place, entry in entries if closed else entries[:-1]:
        yield from _entry(entry, place)


def _entry(entry, place, owner="", depth=0):
    """One `name=value` or `'name': value`, and what is nested in its value."""
    match = re.match(r"\s{0,40}['\"]?([A-Za-z][\w-]{0,80})['\"]?\s{0,8}[=:]\s{0,8}", entry)
    if not match:
        return
    name = owner + match[1].replace("-", "_")
    value = entry[match.end() :]
    nested = re.match(r"(?:[A-Za-z]\w{0,60})?[({]", value)
    if not nested:
        yield name, value.strip().strip("'\""), place + match.start(1)
    elif depth < DEEPEST:
        for at, each in _entries(value, nested.end(), len(value)):
            yield from _entry(each, place + match.end() + at, f"{name}.", depth + 1)


def _entries(text, start, end):
    """Parts between commas outside brackets and quotes, up to the bracket that closes the list."""
    depth, quote, first = 0, "", start
    for at in range(start, end):
        letter = text[at]
        if quote:
            quote = "" if letter == quote and text[at - 1] != "\\" else quote
        elif letter in "'\"":
            quote = letter
        elif letter in OPEN:
            depth += 1
        elif letter in CLOSE:
            depth -= 1
            if depth < 0:
                yield first, text[first:at]
                return
        elif letter == "," and not depth:
            yield first, text[first:at]
            first = at + 1
    yield first, text[first:end]


def _typed(text, start, model_first):
    """Names, values and places of a typed command, over all lines that a backslash joins."""
    end = start
    while end < len(text) and end - start < MOST_READ:
        stop = text.find("\n", end)
        stop = len(text) if stop < 0 else stop
        line, end = text[end:stop], stop + 1
        if not line.rstrip().endswith(("\\", "^", "`")):
            break
    words = list(
        re.finditer(r"'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"]+", text[start : min(end, start + MOST_READ)])
    )
    values = [each[0].strip("'\"") for each in words]
    if model_first and values and re.match(r"[A-Za-z./~]\S*[/\d]", values[0]):
        yield "model", values[0], start + words[0].start()
    for word, value, following in zip(words, values, [*values[1:], ""], strict=True):
        if not re.match(r"--?[A-Za-z]", value):
            continue
        name, equals, given = value.lstrip("-").partition("=")
        alone = not following or following == "\\" or re.match(r"--?[A-Za-z]", following)
        given = given if equals else "True" if alone else following
        yield from _entry(f"{name}: {given}", start + word.start())
