"""Scenes as they travel: what is alike in all of them once, what differs as a list over the stops.

A packed film has `base`, a scene; `vary`, by the path of a part of it, its values at each stop; and
`columns`, by path, the numbers of every stop one after another, 32 bits each in base64, with how
many each stop has; `runs`, by path, a long column of texts as pairs of a text and how often it
follows itself. A plan at rest is a film of one stop.
"""

import base64
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

LONG = 16  # texts, from which on a column is written in runs


def pack(scenes: Sequence[Mapping]) -> dict:
    """Scenes of one layout as a film, one stop a scene."""
    film = {"vary": {}, "columns": {}, "runs": {}}
    return {"base": _pack(list(scenes), "", film), **film}


def _pack(values, path, film):
    """The part of the base at a path; where stops differ it is None, and the film has the rest."""
    first = values[0]
    if any(isinstance(each, np.ndarray) for each in values):
        return _columns([np.asarray(each, np.float32) for each in values], path, film)
    if isinstance(first, dict) and all(_alike(first, each) for each in values):
        return {
            name: _pack([each[name] for each in values], f"{path}/{name}", film) for name in first
        }
    if _is_rows(first) and all(_is_rows(each) and len(each) == len(first) for each in values):
        return [
            _pack(list(each), f"{path}/{place}", film)
            for place, each in enumerate(zip(*values, strict=True))
        ]
    if any(each != first for each in values):
        film["vary"][path[1:]] = values
        return None
    if not _is_long(first):
        return first
    film["runs"][path[1:]] = [[text, len(list(same))] for text, same in groupby(first)]
    return None


def _alike(first, other):
    return isinstance(other, dict) and first.keys() == other.keys()


def _is_long(value):
    return isinstance(value, list) and len(value) > LONG and isinstance(value[0], str)


def _is_rows(value):
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _columns(values, path, film):
    first = values[0]
    if all(np.array_equal(each, first, equal_nan=True) for each in values):
        values, lengths = [first], len(first)
    else:
        lengths = [len(each) for each in values]
    packed = base64.b64encode(np.concatenate(values).astype("<f4").tobytes()).decode()
    film["columns"][path[1:]] = {"packed": packed, "lengths": lengths}
