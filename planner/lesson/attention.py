"""The proof that a cache changes nothing: one decoder, run over a whole text and run in steps.

Every layer is what a decoder of today does in attention: normalise, project to query, key and
value heads, rotate queries and keys by their position, let each token look at itself and what came
before, add the result to what went in. The feed-forward part is left out: it acts on each token
alone, so no cache can touch it. Weights are random, from a seed; the words are real.

Shapes: T tokens, width d = H · d_h, H query heads, H_kv key-value heads, each of width d_h, a
vocabulary of V words.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

SENTENCE = (
    "The", "cat", "drank", "the", "milk", "because", "it", "was", "very", "thirsty", "that",
    "morning",
)  # fmt: skip
OTHERS = (
    "A", "dog", "ate", "a", "tea", "so", "she", "is", "little", "hungry", "robot", "water",
    "night", "again",
)  # fmt: skip
VOCABULARY = tuple(dict.fromkeys((*SENTENCE, *OTHERS)))

# Bits of a number by the name of its type; its rounding step beside 1 is np.finfo(name).eps.
PRECISIONS = {"float16": 16, "float32": 32, "float64": 64}
ROPE_BASE = 10_000  # Su et al. 2021, section 3.2.2
NORM_FLOOR = 1e-6


@dataclass(frozen=True)
class Shape:
    """The size of the decoder. `query_heads` is a multiple of `kv_heads`; `head_dim` is even."""

    layers: int = 4
    query_heads: int = 8
    kv_heads: int = 2
    head_dim: int = 16
    vocabulary: int = len(VOCABULARY)

    def __post_init__(self):
        sizes = (self.layers, self.query_heads, self.kv_heads, self.head_dim, self.vocabulary)
        if min(sizes) < 1:
            raise ValueError("every size is at least 1")
        if self.query_heads % self.kv_heads:
            raise ValueError("query_heads must be a multiple of kv_heads")
        if self.head_dim % 2:
            raise ValueError("head_dim must be even: positions rotate pairs")

    @property
    def width(self):
        return self.query_heads * self.head_dim

    @property
    def parameters(self):
        """Query and output, key and value projections; the words' vectors in, their scores out."""
        d, kv = self.width, self.kv_heads * self.head_dim
        return self.layers * (2 * d * d + 2 * d * kv) + 2 * self.vocabulary * d


DEFAULT = Shape()


@dataclass(frozen=True)
class Mistake:
    """One way to get caching wrong: its name, what is done, and what follows."""

    id: str
    name: str
    what: str
    why: str


MISTAKES = {
    mistake.id: mistake
    for mistake in (
        Mistake(
            "rotate_again",
            "Rotate cached keys again",
            "Keys are stored rotated, and rotated once more each time they are read.",
            "Every old key then sits at twice its position. Store rotated keys and leave them be.",
        ),
        Mistake(
            "no_mask",
            "Forget the mask",
            "While the prompt is read, each token may also look at the tokens after it.",
            "The prompt's tokens come out wrong, and so do the keys and values that deeper layers "
            "make of them. Steps of one token need no mask: nothing comes after the newest token.",
        ),
        Mistake(
            "wrong_slot",
            "Write to the wrong slot",
            "Each step stores its key and value one place too early.",
            "The token before is overwritten and an empty slot is read as if it were a token.",
        ),
        Mistake(
            "wrong_heads",
            "Share heads wrongly",
            "Query heads take key-value heads in turn (0, 1, 0, 1) and not in runs (0, 0, 1, 1).",
            "Queries meet keys that were made for other heads. With one key-value head, or one for "
            "each query head, both orders are the same and nothing breaks.",
        ),
    )
}


def product(a, b):
    """a @ b, kept as a is. Products of 16-bit numbers are added up in 32 bits, as devices do."""
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype) if _half(a) else a @ b


def _half(x):
    return x.dtype == np.float16


def rms_norm(x):
    """Scale each vector of the last axis to root mean square 1 (Zhang and Sennrich 2019)."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(NORM_FLOOR))


def rotate(x, positions):
    """Turn pairs of elements by an angle that grows with position (RoPE). x: (heads, T, d_h).

    Element i is paired with i + d_h/2. Angles are computed in float64 and stored as x is.
    """
    half = x.shape[-1] // 2
    angles = np.outer(positions, float(ROPE_BASE) ** (-np.arange(half) / half))
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def causal_mask(query_positions, key_positions):
    """True where a query may look: at keys no later than itself. Shape (queries, keys)."""
    return key_positions[None, :] <= query_positions[:, None]


def attention_weights(queries, keys, mask):
    """softmax(q·k/√d_h) over the keys that the mask allows (True).

    queries (H, Tq, d_h), keys (H, Tk, d_h), mask (Tq, Tk) -> (H, Tq, Tk); each row adds up to 1.
    """
    scores = product(queries, keys.swapaxes(-1, -2))
    scores = scores / queries.dtype.type(np.sqrt(queries.shape[-1]))
    scores = np.where(mask, scores, -np.inf)
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def attend(queries, keys, values, mask, in_turn=False):
    """Grouped-query attention. queries (H, Tq, d_h); keys, values (H_kv, Tk, d_h) -> (H, Tq, d_h).

    Runs of H / H_kv query heads share one key-value head (Ainslie et al. 2023). `in_turn` hands
    the heads out in the wrong order.
    """
    head = np.arange(len(queries))
    shared = head % len(keys) if in_turn else head * len(keys) // len(queries)
    return product(attention_weights(queries, keys[shared], mask), values[shared])


class Decoder:
    """A stack of attention layers with random weights, a vector for each word before it and a
    score for each word after it.

    `run` reads new tokens after those already in a cache, and puts theirs in.
    """

    def __init__(self, shape: Shape, rng: np.random.Generator, dtype):
        self.shape = shape
        d, kv = shape.width, shape.kv_heads * shape.head_dim
        # One over the root of the width keeps what comes out of a product as large as what went in.
        self.layers = [
            {
                name: (rng.standard_normal((d, out)) / np.sqrt(d)).astype(dtype)
                for name, out in (("query", d), ("key", kv), ("value", kv), ("out", d))
            }
            for _ in range(shape.layers)
        ]
        self.words = rng.standard_normal((shape.vocabulary, d)).astype(dtype)
        self.scores = (rng.standard_normal((d, shape.vocabulary)) / np.sqrt(d)).astype(dtype)
        self.dtype = dtype

    def empty_cache(self, tokens):
        """Zeros for the keys and values of `tokens` tokens: (layers, 2, H_kv, tokens, d_h)."""
        s = self.shape
        return np.zeros((s.layers, 2, s.kv_heads, tokens, s.head_dim), self.dtype)

    def logits(self, tokens, cache, start, mistake=None):
        """Scores (T, V) of the next word after each of the new tokens, numbers below V.

        Their root mean square is about 1. The rest is as in `run`.
        """
        return product(self.run(self.words[tokens], cache, start, mistake), self.scores)

    def run(self, x, cache, start, mistake=None, mask=None):
        """Outputs (T, d) for new tokens x (T, d) at positions start … start+T−1; fills the cache.

        An empty cache and start 0 is a full pass. `mistake` is a key of MISTAKES; mask: (T, start +
        T), who may look at whom where that is not the causal mask.
        """
        end = start + len(x)
        new, seen = np.arange(start, end), np.arange(end)
        mask = causal_mask(new, seen) if mask is None else mask
        if mistake == "no_mask":
            mask = np.ones_like(mask)
        slot = start - 1 if mistake == "wrong_slot" and start else start
        for layer, stored in zip(self.layers, cache, strict=True):
            normed = rms_norm(x)
            queries = rotate(self._heads(product(normed, layer["query"])), new)
            key, value = (self._heads(product(normed, layer[name])) for name in ("key", "value"))
            stored[0, :, slot : slot + len(x)] = rotate(key, new)
            stored[1, :, slot : slot + len(x)] = value
            keys, values = stored[0, :, :end], stored[1, :, :end]
            if mistake == "rotate_again":
                keys = np.concatenate([rotate(keys[:, :start], seen[:start]), keys[:, start:]], 1)
            mixed = attend(queries, keys, values, mask, in_turn=mistake == "wrong_heads")
            x = x + product(mixed.swapaxes(0, 1).reshape(len(x), -1), layer["out"])
        return rms_norm(x)

    def _heads(self, x):
        """(T, heads · d_h) -> (heads, T, d_h)."""
        return x.reshape(len(x), -1, self.shape.head_dim).swapaxes(0, 1)


@dataclass(frozen=True)
class Proof:
    """The same tokens run both ways: logits `full` and `cached` (T, V), the prompt's rows first."""

    full: np.ndarray
    cached: np.ndarray
    prompt_tokens: int

    @property
    def by_position(self):
        """Largest difference at each token, shape (T,)."""
        return np.abs(self.full.astype(float) - self.cached.astype(float)).max(axis=1)

    def table(self) -> pd.DataFrame:
        """`position` from 1, `phase` (prefill or decode) and `difference` of each token."""
        phase = ["prefill"] * self.prompt_tokens
        phase += ["decode"] * (len(self.full) - self.prompt_tokens)
        position = range(1, len(self.full) + 1)
        return pd.DataFrame({"position": position, "phase": phase, "difference": self.by_position})

    @property
    def largest(self):
        """Largest difference of all. Logits are about 1 in size, so it is also relative."""
        return float(self.by_position.max())

    @property
    def same_word(self):
        """After how many tokens both runs score the same next word highest."""
        return int((self.full.argmax(axis=1) == self.cached.argmax(axis=1)).sum())


def prove(
    shape=DEFAULT, prompt_tokens=8, steps=4, seed=0, precision="float32", mistake=None
) -> Proof:
    """Run a random decoder over prompt and steps at once, and again as prefill and cached steps.

    The text is SENTENCE, from its start again where that is too short. precision: a key of
    PRECISIONS. mistake: a key of MISTAKES, made in the cached run only.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision is one of {', '.join(PRECISIONS)}, not {precision}")
    if mistake is not None and mistake not in MISTAKES:
        raise ValueError(f"not a known mistake: {mistake}")
    if min(prompt_tokens, steps) < 1:
        raise ValueError("a prompt of at least one token and at least one step")
    decoder = Decoder(shape, np.random.default_rng(seed), np.dtype(precision).type)
    length = prompt_tokens + steps
    tokens = np.resize([VOCABULARY.index(word) for word in SENTENCE], length)

    full = decoder.logits(tokens, decoder.empty_cache(length), start=0)

    cache = decoder.empty_cache(length)
    pieces = [decoder.logits(tokens[:prompt_tokens], cache, 0, mistake)]
    for position in range(prompt_tokens, length):
        pieces.append(decoder.logits(tokens[position : position + 1], cache, position, mistake))
    return Proof(full, np.concatenate(pieces), prompt_tokens)


def differences(shape=DEFAULT, prompt_tokens=8, steps=4, seed=0) -> pd.DataFrame:
    """Largest difference done right and with each mistake, at each precision.

    Columns: `mistake` (an id, empty when done right), `name`, `precision`, `largest`.
    """
    rows = []
    names = {"": "Done right"} | {mistake.id: mistake.name for mistake in MISTAKES.values()}
    for mistake, name in names.items():
        for precision in PRECISIONS:
            proof = prove(shape, prompt_tokens, steps, seed, precision, mistake or None)
            rows.append((mistake, name, precision, proof.largest))
    return pd.DataFrame(rows, columns=["mistake", "name", "precision", "largest"])
