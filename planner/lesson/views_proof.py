"""Two Learn pages as figures and pictures: edit the past, and the proof."""

from functools import lru_cache

import numpy as np
import pandas as pd

from planner import describe
from planner.charts.picture import Picture
from planner.inputs.question import Figure
from planner.lesson import attention, charts, past
from planner.lesson.attention import MISTAKES, PRECISIONS, SENTENCE, VOCABULARY
from planner.lesson.view import Agreeing, Table, View, counted, scientific

LEAST_DIFFERENCE, MOST_DIFFERENCE = 1e-18, 100.0  # the ends of the proof's axis
BITS = {name: f"{bits} bits" for name, bits in PRECISIONS.items()}
DECIMALS = {"float16": 4, "float32": 8, "float64": 16}  # that show the last bit of a number near 1
BESIDE = 5  # scores of both runs side by side
SHARE = 0.05  # of a logit's size: from here on two runs are plainly different

# --- edit the past ------------------------------------------------------------------------------


def edit_the_past(values) -> View:
    """Which stored keys and values move when one token of the text does."""
    place, masked = values["place"], values["mask"] == "causal"
    found = past.edit(values["edit"], place, masked)
    layers, tokens = found.change.shape
    figures = (
        Figure(
            "recomputed",
            "To compute again",
            describe.whole(found.recomputed),
            f"Pairs of a key and a value that differ from what was stored, or are new, of "
            f"{layers * tokens}: {layers} layers of {tokens} tokens.",
            float(found.recomputed),
            "pairs",
            also=("valid",),
        ),
        Figure(
            "valid",
            "Still valid",
            describe.whole(found.valid),
            "Tokens from the start whose keys and values are unchanged in every layer: the part of "
            "the cache that can be reused.",
            float(found.valid),
            "tokens",
            also=("recomputed",),
        ),
    )
    return View(
        figures,
        (_map(found, values["edit"], masked),),
        about=_decoder(),
        says=_past_says(found, values["edit"], place, masked),
    )


def _past_says(found, kind, place, masked):
    layers, tokens = found.change.shape
    if kind == past.NOTHING:
        return "The text is as it was, and so is the cache: every cell is unchanged."
    if not masked:
        return (
            "Without the mask a token also takes in what comes after it. So from the second layer "
            f"on every cell is different, before the edit too: {found.recomputed} of "
            f"{layers * tokens} pairs have to be computed again. A model without a causal mask can "
            "keep no such cache."
        )
    if kind == past.APPEND:
        return (
            f"“{found.after[-1]}” is new, and no earlier token can look at it: all "
            f"{len(found.before)} tokens before it are unchanged. One pair a layer is added, and "
            "that is all a decode step computes."
        )
    return (
        f"“{found.before[place - 1]}” became “{found.after[place - 1]}”. Its own key and value "
        f"changed, and from the second layer on those of every later token, because each has "
        f"looked at it. The {counted(found.valid, 'token')} before it could not, and "
        f"{'is' if found.valid == 1 else 'are'} unchanged: a cache is valid up to the first token "
        "that differs. That is what prefix reuse uses, and what invalidates it."
    )


def _map(found, kind, masked):
    table = found.table()
    table["sign"] = table["state"].map({past.SAME: "=", past.MOVED: "≠", past.NEW: "+"})
    counts = table["state"].value_counts()
    sentences = [
        f"Layer {row.layer}, “{row.word}”: {row.state}"
        + (f" by up to {describe.significant(row.change)}" if row.state == past.MOVED else "")
        for row in table.itertuples()
    ]
    return Picture(
        "edited",
        "Keys and values, layer by layer",
        charts.edited,
        (found.after, len(found.change)),
        {"rows": table},
        {
            "layer": "layer",
            "word": "token",
            "state": "keys and values",
            "change": "largest change of an element",
        },
        "Map of layers and tokens: "
        + ", ".join(f"{number} {state}" for state, number in counts.items())
        + ".",
        {"rows": sentences},
        ("recomputed", "valid"),
    )


# --- the proof ----------------------------------------------------------------------------------


def _decoder():
    shape = attention.DEFAULT
    return (
        f"The decoder: {shape.layers} layers, {shape.query_heads} query heads and "
        f"{shape.kv_heads} key-value heads of dimension {shape.head_dim}, width {shape.width}, "
        f"{shape.vocabulary} words, {shape.parameters:,} random parameters, rotary positions; no "
        "feed-forward part, which acts on each token alone."
    )


@lru_cache(maxsize=64)
def _all_ways(seed):
    return attention.differences(seed=seed)


def proof(values) -> View:
    """The same text run whole and run in cached steps, and how far apart the two come out."""
    mistake = None if values["mistake"] == "none" else values["mistake"]
    precision = values["precision"]
    found = attention.prove(seed=values["seed"], precision=precision, mistake=mistake)
    right = attention.prove(seed=values["seed"], precision=precision)
    figures = (
        Figure(
            "difference",
            "Largest difference",
            scientific(found.largest),
            "Between the logits of the full pass and of the cached run, which are about 1 in size.",
            found.largest,
            also=("words",) if mistake else ("words", "right"),
        ),
        Figure(
            "right",
            "Done right",
            scientific(right.largest),
            "The same run without a mistake. What is left is rounding, because sums are added in "
            "another order.",
            right.largest,
            also=() if mistake else ("difference", "words"),
        ),
        Figure(
            "words",
            "Same next word",
            f"{found.same_word} of {len(found.full)}",
            "Tokens after which both runs score the same next word highest.",
            float(found.same_word),
            f"of {len(found.full)}",
            also=("difference",) if mistake else ("difference", "right"),
        ),
        Figure("tokens", "Tokens", "8 + 4", "A prefill of eight tokens, then four cached steps."),
    )
    gives = ("difference", "right", "words")
    return View(
        figures,
        (
            _by_token(found, precision, gives),
            _agreement(found, gives),
            _ways(values["seed"], mistake, precision, gives),
        ),
        about=_decoder(),
        says=_proof_says(found, mistake, precision),
        tables=(_side_by_side(found, precision, gives),),
    )


def _proof_says(found, mistake, precision):
    if mistake is None:
        return (
            f"Both runs agree to {scientific(found.largest)} in {BITS[precision]} and pick the "
            f"same next word after all {len(found.full)} tokens. The rest is rounding: the same "
            "numbers are multiplied, and their sums are added in another order."
        )
    wrong = MISTAKES[mistake]
    first = int(np.argmax(found.by_position > SHARE)) + 1
    return (
        f"{wrong.what} {wrong.why} From token {first}, “{SENTENCE[first - 1]}”, on the two runs "
        f"differ, by up to {scientific(found.largest)}, as much as the scores themselves."
    )


def _by_token(found, precision, gives):
    table = found.table()
    table["low"] = LEAST_DIFFERENCE
    table["value"] = table["difference"].clip(LEAST_DIFFERENCE)
    table["word"] = SENTENCE
    ends, rounding = (LEAST_DIFFERENCE, MOST_DIFFERENCE), float(np.finfo(precision).eps)
    bands = {
        "low": [LEAST_DIFFERENCE, SHARE],
        "high": [100 * rounding, MOST_DIFFERENCE],
        "label": [f"equal, but for rounding in {BITS[precision]}", "broken"],
    }
    return Picture(
        "differences",
        "Difference at each token",
        charts.differences,
        (ends, SENTENCE),
        {"rows": table, "bands": bands},
        {
            "position": "token",
            "word": "word",
            "phase": "phase",
            "difference": "largest difference",
        },
        f"Largest difference of the logits at each token, at most {scientific(found.largest)}.",
        {
            "rows": [
                f"“{row.word}”, {row.phase}: {scientific(row.difference)}"
                for row in table.itertuples()
            ]
        },
        gives,
        {"difference": ends, "right": ends},
    )


def _agreement(found, gives):
    full, cached = (run.astype(float).ravel() for run in (found.full, found.cached))
    words = np.tile(VOCABULARY, len(found.full))
    after = np.repeat(SENTENCE, len(VOCABULARY))
    end = float(np.ceil(max(np.abs(full).max(), np.abs(cached).max())))
    return Picture(
        "agreement",
        "Every score of both runs",
        charts.agreement,
        (max(end, 4.0),),
        {
            "rows": {"after": after, "word": words, "full": full, "cached": cached},
            "diagonal": {"at": [-100.0, 100.0]},
        },
        {"after": "after", "word": "next word", "full": "full pass", "cached": "cached run"},
        f"{len(full)} scores, those of the cached run over those of the full pass; equal ones lie "
        f"on the diagonal. They differ by at most {scientific(found.largest)}.",
        {
            "rows": [
                f"after “{a}”, “{b}”: {x:.3f} and {y:.3f}"
                for a, b, x, y in zip(after, words, full, cached, strict=True)
            ]
        },
        gives,
    )


def _side_by_side(found, precision, gives):
    """The five likeliest next words after the last token, as both runs score them."""
    rows, decimals = [], DECIMALS[precision]
    for at in np.argsort(-found.full[-1].astype(float))[:BESIDE]:
        texts = [f"{float(run[-1, at]):.{decimals}f}" for run in (found.full, found.cached)]
        agree = [a == b for a, b in zip(*texts, strict=False)]
        same = texts[0][: agree.index(False) if False in agree else len(agree)]
        cells = (Agreeing(same, text.removeprefix(same)) for text in texts)
        gap = abs(float(found.full[-1, at]) - float(found.cached[-1, at]))
        rows.append((VOCABULARY[at], *cells, scientific(gap)))
    return Table(
        f"Scores of the next word after “{SENTENCE[-1]}”, both runs",
        ("next word", "full pass", "with a cache", "difference"),
        tuple(rows),
        gives,
    )


def _ways(seed, mistake, precision, gives):
    every = _all_ways(seed).copy()
    every["chosen"] = (every["mistake"] == (mistake or "")) & (every["precision"] == precision)
    every["bits"] = every["precision"].map(BITS)
    every["value"] = every["largest"].clip(LEAST_DIFFERENCE)
    sentences = [
        f"{name}, {bits}: {scientific(largest)}"
        for name, bits, largest in zip(every["name"], every["bits"], every["largest"], strict=True)
    ]
    ends = (LEAST_DIFFERENCE, MOST_DIFFERENCE)
    coarse = [text for text in sentences if "32 bits" in text]
    return Picture(
        "mistakes",
        "Every way of doing it",
        charts.mistakes,
        (ends,),
        {"rows": every, "bands": pd.DataFrame({"low": [SHARE], "high": [MOST_DIFFERENCE]})},
        {"name": "what is done", "bits": "precision", "largest": "largest difference"},
        "Largest difference done right and with each mistake, at each precision. "
        f"{'. '.join(coarse)}.",
        {"rows": sentences},
        gives,
        {"difference": ends, "right": ends},
        "x",
    )
