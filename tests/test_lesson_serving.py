"""The lesson's paged memory and the simulator behind Size hand out the same blocks.

The lesson shows every block and whose it is; the simulator counts them, for hundreds of thousands
of requests. Fed the same requests, with a step of one tick and no shared prefix, both hold, run and
let wait the same until one first gives up its room.
"""

from collections import defaultdict
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from planner.lesson import allocation
from planner.lesson.allocation import BLOCK_TOKENS, Load
from planner.sizing.arrivals import Requests
from planner.sizing.batching import Batching

FEW, MANY = 0.05, 0.15
TICK = SimpleNamespace(  # every pass takes one tick, whatever is in it
    mixes=True, first_flops=defaultdict(float), knots=[0], cache_per_token=[0.0],
    pull=defaultdict(float), kind=lambda tokens: 0, cache_s=lambda tokens, place: 0.0,
    prompts_s=lambda *work: 1.0, decode_s=lambda *work: 1.0,
)  # fmt: skip


def served(load):
    """(waiting, running, blocks held) in each tick, by the simulator."""
    coming = allocation.arrivals(load)
    requests = Requests(
        np.array([float(each.arrives) for each in coming]),
        np.array([each.tokens for each in coming]),
        np.array([each.last - each.tokens for each in coming]),
    )
    memory = SimpleNamespace(
        blocks=load.blocks, block_tokens=BLOCK_TOKENS,
        fixed=lambda lengths: np.zeros(len(lengths), int),
        refuses=lambda lengths: np.zeros(len(lengths), bool),
    )  # fmt: skip
    engine = Batching(
        TICK, memory, requests, seats=10**6, pass_tokens=10**6, whole=False, users=0, think_s=None,
        skip=False, lags=False,
    )  # fmt: skip
    engine.serve()
    ticks = [(0, 0, 0)] * load.ticks
    for (start, *_), (end, *state) in pairwise(engine.states):
        for tick in range(round(start), min(round(end), load.ticks)):
            ticks[tick] = tuple(state)
    return ticks, engine.preempted


@pytest.mark.parametrize("arrivals", [FEW, MANY])
@pytest.mark.parametrize("seed", range(10))
def test_both_hold_run_and_let_wait_the_same(seed, arrivals):
    load = Load(seed=seed, arrivals=arrivals, sharing=0.0, ticks=300)
    history = allocation.simulate(load).history
    history = history[history.way == allocation.PAGED]
    held = load.blocks - history.free_blocks
    shown = list(zip(history.waiting, history.running, held, strict=True))
    ticks, preempted = served(load)
    evictions = history.evictions.iloc[-1]
    until = len(shown) if not evictions else int((history.evictions > 0).to_numpy().argmax())
    assert until > 40
    assert shown[:until] == ticks[:until]
    assert bool(preempted) or not evictions
