"""How engines cut a pool into blocks or cells, and what one request takes of it.

Each way of counting is one function, named by an engine's row (`paging`). They share their
arguments: the engine, `CacheLayers` of one device, its pool in bytes, the context of a request in
tokens, and the tokens of one step. Numbers may be arrays.
"""

from dataclasses import dataclass, replace

import numpy as np

from planner import formulas


@dataclass(frozen=True)
class CacheLayers:
    """Layers of one kind as one device stores them.

    layers: how many. token_bytes: keys and values of one token in one of them (0 for a recurrent
    layer). window: tokens kept at most. state_bytes: one layer's fixed state of one request.
    stride: so many tokens make one stored entry; where it is more than 1, key_dim and index_dim are
    the elements of an entry and of its indexer key.
    """

    layers: int
    token_bytes: float
    window: float = float("inf")
    state_bytes: float = 0.0
    stride: int = 1
    key_dim: int = 0
    index_dim: int = 0


@dataclass(frozen=True)
class Paging:
    """How a pool is cut. All of one device.

    block_tokens: tokens of one block, of the kind of layer that stores most. block_bytes: bytes of
    one block in all layers that share it. blocks: in the pool. per_request: blocks that one request
    of the full context holds, or keeps others from holding. groups: how many groups of layers draw
    blocks of their own. apart_bytes: part of the pool that is set apart for recurrent states.
    """

    block_tokens: float
    block_bytes: float
    blocks: float
    per_request: float
    groups: int = 1
    apart_bytes: float = 0.0

    @property
    def concurrency(self):
        """Requests of the full context that fit, with their fraction, as engines print it."""
        return self.blocks / self.per_request

    def with_most(self, requests):
        """The same pool where no more than so many requests get a state, whatever room is left."""
        per_request = np.maximum(self.per_request, _parted(self.blocks, requests))
        return replace(self, per_request=per_request)


def paged(engine, layers, pool, context, batched_tokens):
    """Every layer has its own blocks; a window ends a layer's list, a state is one more piece.

    The unit is what one block of every layer without a window takes, so `per_request` is not whole
    for models of several kinds.
    """
    block = engine.block_tokens
    whole = [each for each in layers if np.isinf(each.window)] or list(layers)
    unit = block * sum(each.layers * each.token_bytes for each in whole)
    unit = unit or sum(each.layers * each.state_bytes for each in layers)
    request = sum(
        each.layers * each.state_bytes
        + each.layers
        * each.token_bytes
        * formulas.padded(formulas.cached_tokens(context, each.window), block)
        for each in layers
    )
    return Paging(block, unit, np.floor(pool / unit), request / unit)


def grouped(engine, layers, pool, context, batched_tokens):
    """vLLM: layers of one kind in groups of one size; every group draws from one list of blocks.

    All groups share pages of one size, so the block of the kind that stores most is stretched until
    its page holds a recurrent state, and kinds that store less put more tokens in a page. A full
    group holds ⌈n / b⌉ blocks of a request, a sliding one no more than `formulas.window_blocks` of
    the tokens of all `steps_in_flight` (2 where a step is scheduled before the last one is over), a
    recurrent one `state_slots` (2 where prefixes are kept: the running state, and that at the end
    of what is kept). A kind whose layers do not divide evenly pads its last group; the size of a
    group is that of the smallest kind, or of the largest where that is less than `group_slack`
    times as many. Layers of one kind are one group, which is plain paging. Layers whose entries
    stand for several tokens: see `compressed`.
    Source: https://github.com/vllm-project/vllm/blob/main/vllm/v1/core/kv_cache_utils.py
    """
    if any(each.stride > 1 for each in layers):
        return compressed(engine, layers, pool, context, batched_tokens)
    attention = [each for each in layers if each.token_bytes]
    most = max((each.token_bytes for each in attention), default=0)
    state = max(each.state_bytes for each in layers)
    block = formulas.stretched_block(engine.block_tokens, most, state) if attention else 1
    page = block * most if attention else state
    fewest, largest = min(e.layers for e in layers), max(e.layers for e in layers)
    size = largest if largest < fewest * engine.group_slack else fewest
    groups, needed = 0, 0
    for each in layers:
        count = -(-each.layers // size)
        groups += count
        if not each.token_bytes:
            needed = needed + count * engine.state_slots
            continue
        tokens = page // each.token_bytes
        full = np.ceil(np.asarray(context) / tokens)
        in_flight = batched_tokens * engine.steps_in_flight
        most_blocks = formulas.window_blocks(each.window, in_flight, tokens)
        needed = needed + count * np.minimum(full, most_blocks)
    return Paging(block, page * size, np.floor(pool / (page * size)), needed, groups)


def cells(engine, layers, pool, context, batched_tokens):
    """llama.cpp: one array of cells a layer, sized when the context is created.

    Full layers have the padded context for every sequence. Window layers share one array whose part
    for the current step (see `memory.cells_bytes`) is there once, whatever the number of sequences;
    it is taken off the pool first.
    Source: https://github.com/ggml-org/llama.cpp/pull/13194
    """
    context = formulas.padded(context, engine.pad_tokens)
    unit, request, once = 0, 0, 0
    for each in layers:
        cost = each.layers * each.token_bytes
        kept = formulas.cached_tokens(context, each.window)
        request = request + each.layers * each.state_bytes + cost * kept
        if np.isinf(each.window):
            unit += cost
        else:
            once = once + np.where(each.window < context, cost * batched_tokens, 0)
    unit = unit or sum(each.layers * (each.token_bytes or each.state_bytes) for each in layers)
    room = np.maximum(pool - once, 0)
    return Paging(1, unit, np.floor(room / unit), request / unit)


def shared(engine, layers, pool, context, batched_tokens):
    """SGLang: a pool of full layers, one of windows that is a share of it, and one of states.

    Windows: full · F + window · r · F bytes for F tokens, r = `window_share`. A running request
    holds its window there, and the prompt that is being read a step of tokens besides. States:
    `states_share` bytes for each byte of keys and values, and one slot more than can be used; a
    running request takes `state_slots` of them, its own and those that keep prefixes. Where
    `state_blocks` says how many, they take that many slots and the tokens get the rest.
    Source: https://github.com/sgl-project/sglang/blob/v0.5.23/python/sglang/srt/
    (model_executor/pool_configurator.py, mem_cache/kv_cache_configurator.py)
    """
    strided = any(each.stride > 1 for each in layers)
    share = engine.compressed_window_share if strided else engine.window_share
    full = sum(each.layers * each.token_bytes for each in layers if np.isinf(each.window))
    sliding = [each for each in layers if np.isfinite(each.window)]
    window = sum(each.layers * each.token_bytes for each in sliding)
    state = sum(each.layers * each.state_bytes for each in layers)
    page, seats, apart = engine.block_tokens, np.inf, 0.0
    if state:
        part = engine.states_share / (1 + engine.states_share) if full or window else 1.0
        slots = np.maximum(np.floor(pool * part / state) - 1, 0)
        if engine.state_blocks:
            slots = np.clip(np.floor(pool / state) - 1, 0, engine.state_blocks)
        seats, apart = slots // engine.state_slots, np.minimum((slots + 1) * state, pool)
    if not full and not window:
        return Paging(1, state, slots, _parted(slots, seats), apart_bytes=apart)
    share = share if full else 1.0
    unit = page * (full + share * window)
    blocks = np.floor((pool - apart) / unit)
    needed = formulas.padded(context, page) / page if full else 0.0
    if window:
        longest = max(each.window for each in sliding)
        once = np.minimum(batched_tokens, context)
        room = np.maximum(share * blocks * page - once, 0)
        running = room / formulas.padded(np.minimum(context, longest), page)
        needed = np.maximum(needed, _parted(blocks, running))
    return Paging(page, unit, blocks, np.maximum(needed, _parted(blocks, seats)), apart_bytes=apart)


def _parted(blocks, requests):
    """What each of so many requests takes of the blocks; ∞ where there is room for none."""
    requests = np.asarray(requests, float)
    return np.where(requests > 0, blocks / np.where(requests > 0, requests, 1), np.inf)[()]


# Entries that stand for several tokens: tokens of a block of entries, and of one of a window;
# what an entry has above a byte an element (64 rotated elements at 16 bits, 8 bytes of scales) and
# an indexer's key for every 128 elements; what its pages are a multiple of.
ENTRY_BLOCK, WINDOW_BLOCK = 256, 64
ENTRY_MORE, INDEX_MORE = 64 + 8, 4
ALIGNED_BYTES = 576
# What a compressor has not finished: tokens of its blocks, and how many entries' tokens it keeps;
# entries with an indexer overlap.
OVERLAPPING, SINGLE = (4, 2), (8, 1)
# How large a block is, which changed from version to version; see `compressed`.
COMPRESSED = ("deepest", "weighed", "packed", "widest")


def compressed(engine, layers, pool, context, batched_tokens):
    """vLLM, DeepSeek-V4: entries of 4 or of 128 tokens, a window in each layer, and states of both.

    All draw blocks from one list: the entries one for every 256 tokens, the windows of all layers,
    dealt in groups, and what the compressors have not finished. Windows and states hold the tokens
    of all steps in flight in small blocks, so that a request needs many blocks whatever its length,
    and fewer with a smaller step. A block is: one tensor a page size, each as deep as the deepest
    group (“deepest”, to 0.24); packed (0.25 to 0.27), where 0.25 and 0.26 weigh a group's blocks by
    its bytes (“weighed”); the bytes of the widest group (“widest”, since 0.28).
    Source: https://github.com/vllm-project/vllm/blob/v0.22.1/vllm/v1/core/kv_cache_utils.py,
    v1/kv_cache_interface.py and models/deepseek_v4/compressor.py
    """
    strided = [each for each in layers if each.stride > 1]
    sliding = [each for each in layers if np.isfinite(each.window)]
    pages = [_entry_pages(each) for each in strided]
    widest = max(page for page, _ in pages)
    windowed = sum(each.layers for each in sliding)
    counts = [*(each.layers for each in strided), windowed]
    deep = _least_padding(max(each.layers for each in strided), counts)
    dealt = -(-windowed // deep)
    depths = [len(range(first, windowed, dealt)) for first in range(dealt)]
    whole = sum(each.layers * sum(both) for each, both in zip(strided, pages, strict=True))

    small = []  # of every group but that of the entries: bytes, tokens of a block, tokens kept
    longest = max((each.window for each in sliding), default=0)
    small += [(widest * depth, WINDOW_BLOCK, longest) for depth in depths]
    for each, (_, index) in zip(strided, pages, strict=True):
        block, kept = OVERLAPPING if each.index_dim else SINGLE
        small.append(((widest + index) * each.layers, block, kept * each.stride))

    needed = np.ceil(np.asarray(context) / ENTRY_BLOCK)
    in_flight = np.asarray(batched_tokens) * engine.steps_in_flight
    for held, block, kept in small:
        blocks = np.ceil(np.minimum(kept - 1 + in_flight, context) / block) + 1
        needed = needed + blocks * (held / whole if engine.compressed_blocks == "weighed" else 1)

    deepest = max([deep, *depths])
    packed = deepest * widest + sum(
        each.layers * (index + page * (page < widest))
        for each, (page, index) in zip(strided, pages, strict=True)
    )
    unit = {
        "deepest": deepest * sum(sum(both) for both in pages),
        "weighed": packed,
        "packed": packed,
        "widest": max(whole, *(held for held, _, _ in small)),
    }[engine.compressed_blocks]
    return Paging(ENTRY_BLOCK, unit, np.floor(pool / unit), needed, 1 + len(small))


def _entry_pages(each):
    """Bytes of one layer's page of entries, and of its indexer's keys; 0 without an indexer."""
    entries = max(ENTRY_BLOCK // each.stride, 1)
    index = each.index_dim + each.index_dim // 128 * INDEX_MORE
    sizes = entries * (each.key_dim + ENTRY_MORE), entries * index
    return tuple(int(formulas.padded(size, ALIGNED_BYTES)) for size in sizes)


def _least_padding(least, counts):
    """The size of a group with which the last groups of all kinds are padded least; the largest."""
    sizes = range(least, max(counts) + 1)
    return min(sizes, key=lambda size: (sum(-count % size for count in counts), -size))


PAGINGS = {"paged": paged, "grouped": grouped, "cells": cells, "shared": shared}


def capacity(paging, context):
    """Blocks times block: all that a model of one kind of layer can hold."""
    return paging.blocks * paging.block_tokens


def by_groups(paging, context):
    """vLLM up to 0.20.0: blocks shared out evenly over the groups, ⌊blocks / groups⌋ · block."""
    return paging.blocks // paging.groups * paging.block_tokens


def by_concurrency(paging, context):
    """vLLM since 0.20.1: concurrency · max_model_len, whole tokens."""
    return np.floor(paging.blocks * context / paging.per_request)


PRINTED = {"capacity": capacity, "by groups": by_groups, "by concurrency": by_concurrency}
