"""Edit the past: which stored keys and values change when a token does, layer by layer.

The decoder of the proof reads the sentence twice, as it was and edited, and the two caches are held
against each other. Under the causal mask nothing before the edited token can change; without the
mask everything does from the second layer on, and no cache could be kept. This is why caches work,
why a shared prefix can be reused, and what makes it invalid.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from planner.lesson import attention
from planner.lesson.attention import DEFAULT, SENTENCE, VOCABULARY

CHANGE, APPEND, NOTHING = "change", "append", "nothing"
WORDS = SENTENCE[:10]
INSTEAD = attention.OTHERS[:10]  # what stands in a word's place once it is changed
MORE = SENTENCE[10]
CHANGED = 1e-9  # elements are about 1 in size and kept in 64 bits: less is rounding

SAME, MOVED, NEW = "unchanged", "changed", "new"


@dataclass(frozen=True)
class Edit:
    """The two texts, and how far each token's keys and values moved.

    change: (layers, tokens of the longer text), the largest change of an element; NaN where there
    is nothing to compare with. valid: tokens from the start that a cache could go on using.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    change: np.ndarray

    @property
    def moved(self):
        """Where something changed; a new token's cells are not counted. (layers, tokens)"""
        return np.nan_to_num(self.change) > CHANGED

    @property
    def valid(self):
        """How many tokens from the start are unchanged in every layer."""
        stale = self.moved.any(axis=0)[: len(self.before)]
        return int(np.argmax(stale)) if stale.any() else len(self.before)

    @property
    def recomputed(self):
        """Pairs of a key and a value that are not as they were stored: changed, or new."""
        return int((self.moved | np.isnan(self.change)).sum())

    def table(self) -> pd.DataFrame:
        """A row a cell: `layer` and `position` from 1, `word`, `state`, `change`."""
        layers, tokens = self.change.shape
        rows = [
            (layer + 1, token + 1, self.after[token], self._state(layer, token),
             self.change[layer, token])
            for layer in range(layers)
            for token in range(tokens)
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=["layer", "position", "word", "state", "change"])

    def _state(self, layer, token):
        if np.isnan(self.change[layer, token]):
            return NEW
        return MOVED if self.moved[layer, token] else SAME


def edit(kind: str, place: int, masked: bool = True, shape=DEFAULT, seed=0) -> Edit:
    """Run the sentence and its edited twin. kind: CHANGE, APPEND or NOTHING.

    place: position from 1 of the token that is changed. masked: whether the causal mask is on.
    """
    if kind not in (CHANGE, APPEND, NOTHING):
        raise ValueError(f"not a kind of edit: {kind}")
    if not 1 <= place <= len(WORDS):
        raise ValueError(f"a place from 1 to {len(WORDS)}")
    after = list(WORDS)
    if kind == CHANGE:
        after[place - 1] = INSTEAD[place - 1]
    if kind == APPEND:
        after.append(MORE)
    decoder = attention.Decoder(shape, np.random.default_rng(seed), np.float64)
    caches = [_cache(decoder, text, masked) for text in (WORDS, after)]
    change = np.full((shape.layers, len(after)), np.nan)
    before, now = (cache[..., : len(WORDS), :] for cache in caches)
    change[:, : len(WORDS)] = np.abs(now - before).max(axis=(1, 2, 4))
    return Edit(WORDS, tuple(after), change)


def _cache(decoder, text, masked):
    """Keys and values of every layer for a text: (layers, 2, H_kv, tokens, d_h)."""
    cache = decoder.empty_cache(len(text))
    everyone = None if masked else np.ones((len(text), len(text)), bool)
    decoder.run(decoder.words[[VOCABULARY.index(word) for word in text]], cache, 0, mask=everyone)
    return cache
