"""What is stored: a small causal attention over a real sentence, step by step, as tables.

Positions and steps count from 1 on screen and here. Step 1 reads the whole prompt; each later step
adds one token.
"""

import numpy as np
import pandas as pd

from planner.lesson import attention

NEW = "computed now"
AGAIN = "computed again"
READ = "read from the cache"
KEPT = "stored"
EMPTY = "nothing yet"
GONE = "used once, not stored"
UNSEEN = "later token: masked"
DONE = "row done in an earlier step"


def vectors(prompt_tokens, step, cached=True) -> pd.DataFrame:
    """What a step does with each token's query, key and value: `position`, `vector`, `state`.

    Covers the prompt and as many tokens as `step` has reached. With a cache old keys and values are
    read and old queries are gone; without one everything is computed again.
    """
    found = {
        vector: states(vector, prompt_tokens, step, cached) for vector in ("query", "key", "value")
    }
    rows = [
        (position, vector, state)
        for position, together in enumerate(zip(*found.values(), strict=True), 1)
        for vector, state in zip(found, together, strict=True)
    ]
    return pd.DataFrame(rows, columns=["position", "vector", "state"])


def states(vector, prompt_tokens, step, cached=True) -> list[str]:
    """What a step does with one vector (query, key or value) of each token, from the first on."""
    tokens = prompt_tokens + step - 1
    newest = 1 if step == 1 else tokens
    old = AGAIN if not cached else GONE if vector == "query" else READ
    return [NEW if position >= newest else old for position in range(1, tokens + 1)]


def grid(prompt_tokens, step, total_tokens, cached=True, seed=0, head_dim=8) -> pd.DataFrame:
    """The attention grid at a step: `query`, `key` (positions), `state`, `weight`.

    One row for each pair of total_tokens². `state` is NEW or AGAIN where the pair's score is
    computed at this step, DONE where an earlier step did it, UNSEEN where the mask forbids it and
    EMPTY where a token is not there yet. `weight` is the attention weight of one random head; it is
    the same at every step, which is why it need not be done again. NaN where there is none.
    """
    tokens = prompt_tokens + step - 1
    newest = 1 if step == 1 else tokens
    rng = np.random.default_rng(seed)
    positions = np.arange(total_tokens)
    queries, keys = (
        attention.rotate(rng.standard_normal((1, total_tokens, head_dim)), positions)
        for _ in range(2)
    )
    mask = attention.causal_mask(positions, positions)
    weights = attention.attention_weights(queries, keys, mask)[0]
    rows = []
    for query in range(1, total_tokens + 1):
        for key in range(1, total_tokens + 1):
            if max(query, key) > tokens:
                state = EMPTY
            elif key > query:
                state = UNSEEN
            elif query >= newest:
                state = NEW
            else:
                state = DONE if cached else AGAIN
            there = state not in (EMPTY, UNSEEN)
            rows.append((query, key, state, weights[query - 1, key - 1] if there else np.nan))
    return pd.DataFrame(rows, columns=["query", "key", "state", "weight"])


def later_reads(total_tokens) -> pd.DataFrame:
    """Why the query is not stored: how often later tokens read each vector.

    Columns `position`, `vector`, `state` (GONE or KEPT), `reads`. Token i's key and value serve
    each token after it, those of the newest none so far; its query serves its own row of the grid
    and is never asked for again.
    """
    rows = []
    for position in range(1, total_tokens + 1):
        after = total_tokens - position
        rows.append((position, "query", GONE, 0))
        rows += [(position, vector, KEPT, after) for vector in ("key", "value")]
    return pd.DataFrame(rows, columns=["position", "vector", "state", "reads"])


def work(prompt_tokens, new_tokens) -> pd.DataFrame:
    """Key-value pairs computed and read at each step: `step`, `cache`, `computed`, `read`."""
    rows = []
    for step in range(1, new_tokens + 1):
        for way, cached in (("without a cache", False), ("with a cache", True)):
            keys = states("key", prompt_tokens, step, cached)
            read = keys.count(READ)
            rows.append((step, way, len(keys) - read, read))
    return pd.DataFrame(rows, columns=["step", "cache", "computed", "read"])
