"""The pool of an engine as its scheduler hands it out: blocks, and prefixes kept for reuse.

Freed blocks keep what is in them until they are handed out again, the longest free first, so that
a prefix is found again while its room is not needed (vLLM's block pool, SGLang's radix cache). What
is freed together is one stretch of the list, not so many blocks: only its size is ever needed.
"""

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from planner.pools import reserve
from planner.serving import Evaluation

LENGTHS = 64  # contexts at which a request's blocks are asked for, and interpolated between
FAR = 2**20  # tokens beyond which blocks grow alike
LEAST_GROWTH = 1e-9  # blocks for each block's tokens; less is none
ENDLESS = 2**50  # tokens of a block that no request fills
MOST_BLOCKS = 2**50  # of a model that stores nothing that grows


class Pool:
    """Free and held blocks. free: those that can be had, whether they hold a kept prefix or not.

    A key names a prefix, one stretch of blocks that several requests may hold at once.
    """

    def __init__(self, blocks: int):
        self.blocks = self.free = blocks
        self.order = deque([[blocks, None]])  # stretches by how long they are free, and their keys
        self.kept = {}  # key: its stretch in `order`
        self.held = {}  # key: [how many hold it, its blocks]

    def take(self, count: int):
        """So many free blocks, the longest free first; what they held is lost."""
        self.free -= count
        order = self.order
        while count:
            first = order[0]
            if first[0] > count:
                first[0] -= count
                return
            count -= first[0]
            order.popleft()
            if first[1] is not None and self.kept.get(first[1]) is first:
                del self.kept[first[1]]

    def give(self, count: int, key=None):
        """Blocks that are held no more. key: by which they can be found again."""
        if not count:
            return
        self.free += count
        order = self.order
        if key is None and order and order[-1][1] is None:
            order[-1][0] += count
            return
        stretch = [count, key]
        order.append(stretch)
        if key is not None:
            self.kept[key] = stretch

    def reuse(self, key) -> int:
        """Take a kept stretch out of the free ones, with what it holds; its blocks, 0 if lost."""
        stretch = self.kept.pop(key, None)
        if stretch is None:
            return 0
        count, stretch[0], stretch[1] = stretch[0], 0, None
        self.free -= count
        return count

    def missing(self, keys, blocks: int) -> int:
        """Free blocks that it takes to hold prefixes of so many blocks each."""
        return blocks * sum(key not in self.held for key in keys)

    def hold(self, keys, blocks: int) -> int:
        """One more request that holds these prefixes; those not there are taken.

        How many blocks are there in an unbroken run from the first on.
        """
        absent, there, whole = 0, 0, True
        for key in keys:
            if key in self.held:
                self.held[key][0] += 1
                here = blocks
            else:
                here = self.reuse(key)
                self.held[key] = [1, blocks]
                absent += blocks - here
            if whole:
                there += here
                whole = here == blocks
        self.take(absent)
        return there

    def drop(self, key):
        """One request less that holds a prefix; with the last its blocks are free, and kept."""
        holders = self.held[key]
        holders[0] -= 1
        if not holders[0]:
            del self.held[key]
            self.give(holders[1], key)


@dataclass(frozen=True)
class Cut:
    """How a pool is cut for one request of n tokens: ⌈n / block_tokens⌉ blocks, and `more` of it.

    blocks: in the pool. block_tokens: `ENDLESS` where nothing grows with a request. lengths, more:
    windows and states, in blocks, which are held in full from the start, by the last length of a
    request.
    """

    blocks: int
    block_tokens: int
    lengths: np.ndarray
    more: np.ndarray

    def refuses(self, tokens):
        """Which requests would not fit into the whole pool by their last token but one."""
        return self.fixed(tokens) - (1 - tokens) // self.block_tokens > self.blocks

    def fixed(self, tokens):
        """Blocks that requests of those last lengths hold beside those that grow."""
        return np.ceil(np.interp(tokens, self.lengths, self.more) - 1e-6).astype(int)


def cut(found: Evaluation, blocks: int | None = None) -> Cut:
    """The engine's own pool, of one data-parallel group, in the blocks in which requests grow.

    blocks: of the pool, where an engine has printed them.
    """
    lengths = np.unique(np.geomspace(1, 2 * FAR, LENGTHS).round())
    plan = replace(found.plan, context_tokens=lengths)
    needed = reserve(plan, found.engine).blocks_per_request
    needed = np.broadcast_to(np.asarray(needed, float), lengths.shape)
    block = int(found.reserve.block_tokens)
    many = FAR / block
    grows = float(needed[-1] - np.interp(FAR, lengths, needed)) / many
    pool = float(found.reserve.blocks) if blocks is None else blocks
    if grows < LEAST_GROWTH:
        return Cut(int(min(pool, MOST_BLOCKS)), ENDLESS, lengths, np.maximum(needed - 1, 0.0))
    more = np.maximum(needed / grows - np.ceil(lengths / block), 0.0)
    return Cut(int(min(pool / grows, MOST_BLOCKS)), block, lengths, more)
