"""Traces of real requests, read from public formats: when they came and how long they were.

Azure's inference traces (2023, 2024), BurstGPT, Mooncake with the blocks that prompts share, or a
plain table with the names of `Requests`. What cannot be read is counted and named, and the rest is
kept. A link carries a trace as its summary.

Formats: https://github.com/Azure/AzurePublicDataset/blob/master/AzureLLMInferenceDataset2023.md,
https://github.com/HPMLL/BurstGPT, https://github.com/kvcache-ai/Mooncake (FAST25-release/traces)
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from planner.models.notation import shorten
from planner.sizing.arrivals import Requests

# Each format: the columns that hold the time, the prompt's tokens and the output's.
TABLES = {
    "Azure": ("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
    "BurstGPT": ("Timestamp", "Request tokens", "Response tokens"),
    "plain": ("arrival_s", "prompt_tokens", "output_tokens"),
}
MOONCAKE = ("timestamp", "input_length", "output_length")
MOONCAKE_BLOCK = 512  # tokens that one of its hash_ids stands for
CHUNK_ROWS = 50_000  # read at once, between two reports of progress
PARTS = 32  # into which a chunk is cut where something in it cannot be read
MOST_NAMED = 10  # malformed rows that are named; the others are counted
FAR = 1e15  # beyond what a whole number can be here
LONGEST = 2**21  # tokens; more is taken for a slip


@dataclass(frozen=True)
class Malformed:
    """A row that could not be read: its line in the file, from 1 on, and why."""

    line: int
    text: str


@dataclass(frozen=True)
class Summary:
    """What a trace says of its load; lengths in tokens, times in seconds.

    prompt, output: (median, 95th percentile, mean). burst: coefficient of variation of the gaps.
    reused: part of the requests that begin with what an earlier one had; reused_tokens: how many
    tokens those have in common in the mean; blocks_reused: part of all whole blocks seen before.
    """

    requests: int
    span_s: float
    rate: float
    prompt: tuple[float, float, float]
    output: tuple[float, float, float]
    burst: float
    reused: float
    reused_tokens: float
    blocks_reused: float


@dataclass(frozen=True)
class Trace:
    """The requests of a file in the order of their coming, the first at 0 s.

    kind: a key of TABLES, or “Mooncake”. malformed: rows left out; named: the first of them.
    """

    kind: str
    requests: Requests
    malformed: int
    named: tuple[Malformed, ...]

    def summary(self) -> Summary:
        return self._summary

    @cached_property
    def _summary(self):
        load = self.requests
        gaps = np.diff(load.arrival_s)
        span = float(load.arrival_s[-1])
        mean = gaps.mean() if len(gaps) else 0.0
        hits, tokens, blocks = _reuse(load)
        return Summary(
            requests=len(load),
            span_s=span,
            rate=len(gaps) / span if span else 0.0,
            prompt=_spread(load.prompt_tokens),
            output=_spread(load.output_tokens),
            burst=float(gaps.std() / mean) if mean else 1.0,
            reused=hits / len(load),
            reused_tokens=tokens / hits if hits else 0.0,
            blocks_reused=blocks,
        )


def _spread(lengths):
    median, high = np.percentile(lengths, (50, 95))
    return float(median), float(high), float(lengths.mean())


def _reuse(load):
    """(requests that reuse some, tokens reused in all, part of all blocks): of an endless cache."""
    seen, hits, tokens, blocks, found = set(), 0, 0, 0, 0
    for pieces, prompt in zip(load.prefixes, load.prompt_tokens.tolist(), strict=False):
        whole = pieces[: prompt // load.piece_tokens]
        known = 0
        while known < len(whole) and whole[known] in seen:
            known += 1
        hits += known > 0
        found += known
        tokens += min(known * load.piece_tokens, prompt - 1)
        blocks += len(whole)
        seen.update(whole[known:])
    return hits, tokens, found / blocks if blocks else 0.0


def read_trace(
    source: str | Path | bytes, progress: Callable[[float], None] | None = None
) -> Trace:
    """The trace in a file by its path, or in the bytes of one.

    progress: called with the part that is read. ValueError, a plain sentence, where the format is
    not known or no row can be read.

    >>> from planner.sizing.traces import read_trace
    >>> rows = b"0,100,20\\n2,50,many\\n3,80,10"
    >>> found = read_trace(b"arrival_s,prompt_tokens,output_tokens\\n" + rows)
    >>> print(len(found.requests), found.malformed, found.named[0].text)
    2 1 output_tokens: “many” is not a whole number from 1 on
    """
    raw = source if isinstance(source, bytes) else Path(source).read_bytes()
    text = raw.decode("utf-8-sig", errors="replace")
    first = text.lstrip()[:1]
    if not first:
        raise ValueError("The file is empty.")
    found = _json_lines(text) if first == "{" else _table(text)
    kind, columns = next(found)
    parts, named, malformed, done = [], [], 0, 0
    total = max(text.count("\n"), 1)
    for rows, bad in found:
        parts.append(rows)
        malformed += len(bad)
        named += bad[: MOST_NAMED - len(named)]
        done += len(rows[0]) + len(bad)
        if progress:
            progress(min(done / total, 1.0))
    if not sum(len(rows[0]) for rows in parts):
        why = f" Line {named[0].line}: {named[0].text}." if named else ""
        raise ValueError(f"No row of it has {columns[0]}, {columns[1]} and {columns[2]}.{why}")
    return _trace(kind, parts, malformed, tuple(named))


def _trace(kind, parts, malformed, named):
    times, prompts, outputs = (np.concatenate([rows[at] for rows in parts]) for at in range(3))
    order = np.argsort(times, kind="stable")
    prefixes = [pieces for rows in parts for pieces in rows[3]]
    prefixes = tuple(prefixes[at] for at in order.tolist()) if any(prefixes) else ()
    requests = Requests(
        times[order] - times[order[0]],
        prompts[order],
        outputs[order],
        prefixes,
        MOONCAKE_BLOCK if prefixes else 0,
    )
    return Trace(kind, requests, malformed, named)


# --- tables ---------------------------------------------------------------------------------------


def _table(text) -> Iterator:
    """First (kind, columns), then for each chunk of rows ([times, prompts, outputs, ()], bad)."""
    reader = csv.reader(io.StringIO(text, newline=None))
    header = [cell.strip() for cell in _some(reader, 1)[0]]
    known = {name.lower(): at for at, name in reversed(list(enumerate(header)))}
    able = [kind for kind, names in TABLES.items() if all(name.lower() in known for name in names)]
    if not able:
        names = "; ".join(", ".join(columns) for columns in TABLES.values())
        raise ValueError(
            f"The columns “{shorten(', '.join(header))}” are of no known trace. Known are {names}, "
            "and lines of JSON with timestamp, input_length and output_length."
        )
    columns = TABLES[able[0]]
    yield able[0], columns
    places, line = [known[name.lower()] for name in columns], 2
    while rows := _some(reader, CHUNK_ROWS):
        yield from _all_that_can(lambda own, at: _cells(own, at, columns, places), rows, line)
        line += len(rows)


def _some(reader, most):
    try:
        return list(islice(reader, most))
    except csv.Error as problem:
        raise ValueError(f"Line {reader.line_num} is not CSV: {problem}.") from None


def _all_that_can(read, rows, line):
    """Chunks of rows that are read at once, cut smaller where that fails, down to single rows.

    read: (rows, line of the first) -> (arrays, bad), or ValueError where some cannot be read.
    """
    try:
        yield read(rows, line)
    except (IndexError, TypeError, KeyError, ValueError, OverflowError, RecursionError):
        if len(rows) == 1:
            yield _none([Malformed(line, "a number in it is too large")])
            return
        size = max(len(rows) // PARTS, 1)
        for at in range(0, len(rows), size):
            yield from _all_that_can(read, rows[at : at + size], line + at)


def _cells(rows, line, columns, places):
    """Three columns as arrays. A single row that cannot be read is named instead."""
    if len(rows) == 1:
        row = rows[0]
        if not any(row):
            return _none([])
        wrong = _wrong_row(columns, [row[at] if at < len(row) else "" for at in places])
        if wrong:
            return _none([Malformed(line, wrong)])
    cells = list(zip(*rows, strict=True))
    times, prompts, outputs = (np.array(cells[at]) for at in places)
    found = [_times(times), _whole(prompts), _whole(outputs)]
    _check(*found)
    return [*found, [()] * len(rows)], []


def _none(bad):
    return [np.array([], float), np.array([], np.int64), np.array([], np.int64), []], bad


def _check(times, prompts, outputs):
    """ValueError where a number is none that a request can have."""
    right = np.isfinite(times) & (prompts >= 1) & (outputs >= 1)
    if not np.all(right & (prompts <= LONGEST) & (outputs <= LONGEST)):
        raise ValueError("out of range")


def _times(cells):
    """Seconds of numbers or of dates (from 1970 on, in the zone that they are written in)."""
    try:
        return cells.astype(float)
    except ValueError:
        zone = re.search(r"(?<=\d)(Z|[+-]\d\d:?\d\d)$", str(cells[0]))
        if zone:
            cells = np.char.replace(cells, zone[0], "")
        dates = cells.astype("datetime64[ns]")
        return np.where(np.isnat(dates), np.nan, dates.astype(np.int64) / 1e9)


def _whole(cells):
    """Whole numbers, which may be written as 12.0."""
    try:
        return cells.astype(np.int64)
    except ValueError:
        numbers = cells.astype(float)
        right = (numbers == np.floor(numbers)) & (np.abs(numbers) < FAR)
        return np.where(right, numbers, -1).astype(np.int64)


def _wrong_row(columns, cells):
    """Why a row cannot be taken, or “”."""
    for name, cell, kind in zip(columns, cells, (_times, _whole, _whole), strict=True):
        shown = shorten(cell.strip())
        if not shown:
            return f"{name} is missing"
        try:
            value = kind(np.array([cell.strip()]))[0]
        except (ValueError, OverflowError):
            value = np.nan
        wrong = _wrong(name, shown, value, kind is _times)
        if wrong:
            return wrong
    return ""


def _wrong(name, shown, value, time):
    """Why a value cannot be taken, or “”."""
    if time:
        return "" if np.isfinite(value) else f"{name}: “{shown}” is neither seconds nor a date"
    if not (value >= 1 and value == int(value)):
        return f"{name}: “{shown}” is not a whole number from 1 on"
    return "" if value <= LONGEST else f"{name}: “{shown}” is more than {LONGEST:,}"


# --- lines of JSON --------------------------------------------------------------------------------


def _json_lines(text) -> Iterator:
    """The same of Mooncake's lines, with times in milliseconds and the blocks of each prompt."""
    yield "Mooncake", MOONCAKE
    lines, line = io.StringIO(text, newline=None), 1
    while rows := list(islice(lines, CHUNK_ROWS)):
        yield from _all_that_can(_objects, rows, line)
        line += len(rows)


def _objects(rows, line):
    """Three columns as arrays, and the blocks; a single line that cannot be read is named."""
    if len(rows) == 1:
        if not rows[0].strip():
            return _none([])
        wrong = _wrong_line(rows[0].strip())
        if wrong:
            return _none([Malformed(line, wrong)])
    objects = json.loads(f"[{','.join(rows)}]")
    if len(objects) != len(rows):
        raise ValueError("more than one in a line")
    times, prompts, outputs = (np.array([each[name] for each in objects]) for name in MOONCAKE)
    pieces = [tuple(each.get("hash_ids", ())) for each in objects]
    if any(each and not min(each) >= 0 for each in pieces):
        raise ValueError("blocks are numbered from 0 on")
    if any(each.dtype.kind not in "if" for each in (times, prompts, outputs)):
        raise ValueError("not numbers")
    found = [times / 1e3, _whole(prompts), _whole(outputs)]
    if np.any(found[1] != prompts) or np.any(found[2] != outputs):
        raise ValueError("not whole")
    _check(*found)
    return [*found, pieces], []


def _wrong_line(written):
    """Why a line cannot be taken, or “”."""
    try:
        row = json.loads(written)
    except (ValueError, RecursionError):
        return f"“{shorten(written)}” is not JSON"
    if not isinstance(row, dict):
        return f"“{shorten(written)}” is not an object"
    for name in MOONCAKE:
        value = row.get(name)
        if value is None:
            return f"{name} is missing"
        shown = shorten(str(value))
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"{name}: “{shown}” is not a number"
        if not abs(value) < FAR:
            return f"{name}: “{shown}” is too large, or not a number"
        wrong = _wrong(name, shown, value, name == "timestamp")
        if wrong:
            return wrong
    pieces = row.get("hash_ids", [])
    if not isinstance(pieces, list) or not all(type(each) is int and each >= 0 for each in pieces):
        return "hash_ids is not a list of whole numbers"
    return ""
