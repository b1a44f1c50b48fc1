"""What is stored: a small causal attention, step by step, as tables a page can draw.

Positions and steps count from 1 on screen and here. Step 1 reads the whole prompt; each later step
adds one token.
"""

import numpy as np
import pandas as pd

from planner.lesson import attention

NEW = "worked out now"
AGAIN = "worked out again"
READ = "read from the cache"
EMPTY = "nothing yet"
GONE = "dropped after use"
UNSEEN = "later token: not seen"
DONE = "row done in an earlier step"


def vectors(prompt_tokens, step, cached=True) -> pd.DataFrame:
    """What a step does with each token's query, key and value: `position`, `vector`, `state`.

    Covers the prompt and as many tokens as `step` has reached. With a cache old keys and values are
    read and old queries are gone; without one everything is worked out again.
    """
    tokens = prompt_tokens + step - 1
    newest = 1 if step == 1 else tokens
    rows = []
    for position in range(1, tokens + 1):
        for vector in ("query", "key", "value"):
            if position >= newest:
                state = NEW
            elif not cached:
                state = AGAIN
            else:
                state = GONE if vector == "query" else READ
            rows.append((position, vector, state))
    return pd.DataFrame(rows, columns=["position", "vector", "state"])


def grid(prompt_tokens, step, total_tokens, cached=True, seed=0, head_dim=8) -> pd.DataFrame:
    """The attention grid at a step: `query`, `key` (positions), `state`, `weight`.

    One row for each pair of total_tokens² . `state` is NEW or AGAIN where the pair's score is
    worked out at this step, DONE where an earlier step did it, UNSEEN where the mask forbids it and
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
    """Why the query is not kept: how often later tokens read each vector.

    Columns `position`, `vector`, `reads`. Token i's key and value serve each token after it; its
    query serves its own row of the grid and is never asked for again.
    """
    rows = []
    for position in range(1, total_tokens + 1):
        after = total_tokens - position
        rows += [(position, "query", 0), (position, "key", after), (position, "value", after)]
    return pd.DataFrame(rows, columns=["position", "vector", "reads"])


def work(prompt_tokens, new_tokens) -> pd.DataFrame:
    """Key-value pairs worked out and read at each step: `step`, `cache`, `computed`, `read`."""
    rows = []
    for step in range(1, new_tokens + 1):
        for way, cached in (("without a cache", False), ("with a cache", True)):
            states = vectors(prompt_tokens, step, cached).query("vector == 'key'")["state"]
            read = int((states == READ).sum())
            rows.append((step, way, len(states) - read, read))
    return pd.DataFrame(rows, columns=["step", "cache", "computed", "read"])
