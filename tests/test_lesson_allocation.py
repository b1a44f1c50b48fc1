"""Two ways to hand out memory: nothing is held twice, lost or made up, and the known figures."""

from itertools import pairwise

import pytest

from planner.lesson import allocation
from planner.lesson.allocation import (
    BLOCK_TOKENS,
    CONTIGUOUS,
    FREE,
    LEAKED,
    PAGED,
    PREFIX,
    RESERVED,
    USED,
    Load,
    simulate,
    summary,
)

SEEDS = range(12)
BUSY = {"arrivals": 0.5, "ticks": 150}


def by_way(run):
    return {way: rows.reset_index(drop=True) for way, rows in run.history.groupby("way")}


@pytest.mark.parametrize("seed", SEEDS)
def test_each_picture_adds_up(seed):
    run = simulate(Load(seed=seed, **BUSY))
    for way, rows in by_way(run).items():
        for row in rows.itertuples():
            cells = run.cells[way][row.tick]
            assert len(cells) == run.load.blocks
            owners = {owner for owner, _, state in cells if state in (USED, RESERVED)}
            assert len(owners) == row.running
            held = sum(BLOCK_TOKENS for _, _, state in cells if state != FREE)
            assert row.held_tokens == held
            assert row.free_blocks * BLOCK_TOKENS + held == run.load.blocks * BLOCK_TOKENS
            assert all(0 <= tokens <= BLOCK_TOKENS for _, tokens, _ in cells)
            if way == PAGED:  # at most one unfilled block for each request
                assert held - row.used_tokens <= row.running * (BLOCK_TOKENS - 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_tokens_in_memory_are_the_requests_tokens(seed):
    """Follows each request alone: prompt at admission, one token a tick, gone when done."""
    load = Load(seed=seed, sharing=0.0)
    run = simulate(load)
    requests = {request.number: request for request in allocation.arrivals(load)}
    for way in (CONTIGUOUS, PAGED):
        before, evicted = {}, by_way(run)[way]["evictions"].diff().fillna(0)
        for tick in range(load.ticks):
            now = {}
            for owner, tokens, _ in run.cells[way][tick]:
                if owner:
                    now[owner] = now.get(owner, 0) + tokens
            for owner, tokens in now.items():
                if owner in before:  # an evicted one may be back in the same tick, no longer
                    assert tokens == before[owner] + 1 or evicted[tick]
                    assert tokens >= before[owner]
                assert tokens < requests[owner].last
                assert tick >= requests[owner].arrives
            before = now


def test_contiguous_stretches_are_unbroken():
    run = simulate(Load(seed=3, **BUSY))
    for cells in run.cells[CONTIGUOUS]:
        places = {}
        for block, (owner, _, state) in enumerate(cells):
            if state in (USED, RESERVED):
                places.setdefault(owner, []).append(block)
        for blocks in places.values():
            assert blocks == list(range(blocks[0], blocks[-1] + 1))
            assert len(blocks) * BLOCK_TOKENS in run.load.limits


@pytest.mark.parametrize("seed", SEEDS)
def test_paged_serves_more_and_wastes_less(seed):
    table = summary(simulate(Load(seed=seed, **BUSY)))
    assert table.loc[CONTIGUOUS, "waste_percent"] > 45
    assert table.loc[PAGED, "waste_percent"] < 15
    assert table.loc[PAGED, "finished"] > table.loc[CONTIGUOUS, "finished"]
    assert table.loc[PAGED, "running"] > table.loc[CONTIGUOUS, "running"]


def test_gaps_too_small_to_use():
    """Contiguous memory turns requests away with enough blocks free, only not side by side."""
    rows = by_way(simulate(Load(seed=0, **BUSY)))[CONTIGUOUS]
    smallest = min(Load().limits) // BLOCK_TOKENS
    stuck = rows.query("waiting > 0 and largest_gap_blocks < free_blocks")
    assert (stuck["free_blocks"] >= smallest).any()


def test_shared_beginning_is_stored_once():
    run = simulate(Load(seed=0, sharing=1.0))
    counts = [sum(s == PREFIX for _, _, s in cells) for cells in run.cells[PAGED]]
    assert set(counts) <= {0, 3}
    rows = by_way(run)
    admitted = rows[PAGED].iloc[-1][["running", "finished", "evictions"]].sum()
    assert rows[PAGED]["reused_tokens"].iloc[-1] == 48 * (admitted - 1)  # all but the first
    assert rows[CONTIGUOUS]["reused_tokens"].max() == 0


def test_unused_beginning_is_dropped_when_room_is_short():
    tight = Load(seed=1, blocks=16, arrivals=0.5, sharing=0.2, ticks=400)
    counts = [sum(s == PREFIX for _, _, s in c) for c in simulate(tight).cells[PAGED]]
    dropped = [a for a, b in pairwise(counts) if a and not b]
    assert dropped


def test_full_memory_evicts_the_youngest_and_finishes_it_later():
    run = simulate(Load(seed=0, arrivals=1.0, ticks=300))
    paged = by_way(run)[PAGED]
    assert paged["evictions"].iloc[-1] > 0
    assert by_way(run)[CONTIGUOUS]["evictions"].iloc[-1] == 0
    finished = paged["finished"].iloc[-1]
    assert finished + paged["running"].iloc[-1] + paged["waiting"].iloc[-1] == 300
    assert finished > 30


def test_eviction_takes_the_youngest():
    """Whoever leaves before its end came after all that stay."""
    load = Load(seed=0, arrivals=1.0, sharing=0.0, ticks=300)
    run = simulate(load)
    last = {request.number: request.last for request in allocation.arrivals(load)}
    admitted, before, seen = [], {}, 0
    for cells in run.cells[PAGED]:
        now = {}
        for owner, tokens, _ in cells:
            if owner:
                now[owner] = now.get(owner, 0) + tokens
        evicted = [
            owner for owner in before if owner not in now and before[owner] + 1 < last[owner]
        ]
        stayed = [owner for owner in admitted if owner in now]
        for owner in evicted:
            seen += 1
            assert all(admitted.index(owner) > admitted.index(other) for other in stayed)
        admitted = stayed + [owner for owner in sorted(now) if owner not in stayed]
        before = now
    assert seen > 20


def test_a_beginning_in_use_is_never_dropped():
    load = Load(seed=0, arrivals=1.0, blocks=32, ticks=300)
    sharing = {request.number for request in allocation.arrivals(load) if request.shares}
    in_use = 0
    for cells in simulate(load).cells[PAGED]:
        if sharing & {owner for owner, _, _ in cells}:
            in_use += 1
            assert sum(state == PREFIX for _, _, state in cells) == 3
    assert in_use > 100


def test_a_leak_only_grows_until_nothing_runs():
    run = simulate(Load(seed=0, leak=1.0, ticks=400, sharing=0.0))
    for rows in by_way(run).values():
        assert rows["leaked_tokens"].is_monotonic_increasing
        assert rows["waiting"].iloc[-1] > 0
        assert rows["leaked_tokens"].iloc[-1] > 0.7 * 64 * BLOCK_TOKENS
        late = rows.tail(150)
        assert late["finished"].iloc[-1] - late["finished"].iloc[0] <= 1
    healthy = by_way(simulate(Load(seed=0, ticks=400, sharing=0.0)))[PAGED]
    assert healthy["leaked_tokens"].max() == 0
    assert healthy["held_tokens"].iloc[-1] < 64 * BLOCK_TOKENS
    assert LEAKED in {state for _, _, state in run.cells[PAGED][-1]}


def test_all_memory_comes_back():
    load = Load(seed=0, ticks=60)
    long = Load(seed=0, ticks=1000, arrivals=0.0)
    assert by_way(simulate(load))[PAGED]["held_tokens"].max() > 0
    assert by_way(simulate(long))[PAGED]["held_tokens"].max() == 0


def test_moving_one_input_leaves_the_other_draws_alone():
    few, many = allocation.arrivals(Load(arrivals=0.1)), allocation.arrivals(Load(arrivals=0.3))
    assert len(many) > len(few)
    assert {(r.arrives, r.last) for r in few} <= {(r.arrives, r.last) for r in many}
    assert [r.arrives for r in allocation.arrivals(Load(leak=0.5, arrivals=0.1))] == [
        r.arrives for r in few
    ]


def test_requests_keep_within_what_they_asked_for():
    for seed in SEEDS:
        for request in allocation.arrivals(Load(seed=seed, arrivals=1.0)):
            assert request.tokens < request.last <= request.limit


def test_picture_as_a_table():
    table = simulate(Load(seed=0)).blocks(PAGED, 100)
    assert list(table.columns) == ["block", "owner", "tokens", "state"]
    assert len(table) == 64


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"prefix_tokens": 10}, "multiples"),
        ({"blocks": 8}, "does not fit"),
        ({"prefix_tokens": 96}, "half"),
        ({"leak": 2}, "leak is a share"),
    ],
)
def test_refusals(bad, says):
    with pytest.raises(ValueError, match=says):
        Load(**bad)
