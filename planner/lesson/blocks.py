"""The memory page's blocks in motion: one run served two ways, as a component plays it.

A tick is sent as what changed in it, a few blocks of sixty-four.
"""

from planner import describe
from planner.lesson import allocation
from planner.lesson.allocation import BLOCK_TOKENS, CONTIGUOUS, PAGED
from planner.lesson.view import Scene

WAYS = (CONTIGUOUS, PAGED)
# Codes by state, as the component reads them.
STATES = (
    allocation.FREE,
    allocation.USED,
    allocation.RESERVED,
    allocation.PREFIX,
    allocation.LEAKED,
)
COUNTS = ("running", "waiting", "finished")


def changes(pictures) -> list[list[tuple[int, int, int, int]]]:
    """For each tick (block, owner, tokens, state's code) of what differs from the tick before.

    pictures: a tick's blocks each, as `Run.cells` has them; before the first all are free.
    """
    before, found = [(0, 0, allocation.FREE)] * len(pictures[0]), []
    for picture in pictures:
        found.append(
            [
                (block, owner, tokens, STATES.index(state))
                for block, (owner, tokens, state) in enumerate(picture)
                if picture[block] != before[block]
            ]
        )
        before = picture
    return found


def scene(run: allocation.Run, tick: int, gives) -> Scene:
    """Both memories from the first tick on, standing at `tick`."""
    lanes = []
    for way in WAYS:
        table = run.history[run.history["way"] == way]
        lanes.append(
            {
                "name": way.capitalize(),
                "changes": changes(run.cells[way]),
                "counts": table[list(COUNTS)].astype(int).to_numpy().tolist(),
            }
        )
    now = run.blocks(PAGED, tick)
    return Scene(
        "memory",
        "Blocks of the memory, tick by tick",
        {
            "lanes": lanes,
            "blocks": run.load.blocks,
            "places": BLOCK_TOKENS,
            "states": STATES,
            "tick": tick,
            "parameter": "tick",
        },
        f"Memory at tick {tick}. " + " ".join(_said(run, way, tick) for way in WAYS),
        gives,
        {
            "block": now["block"],
            **{
                f"{column}, {way}": run.blocks(way, tick)[column]
                for way in WAYS
                for column in ("state", "owner", "tokens")
            },
        },
    )


def _said(run, way, tick):
    counts = run.blocks(way, tick)["state"].value_counts()
    held = ", ".join(f"{state} {describe.whole(n)}" for state, n in counts.items())
    return f"Blocks, {way}: {held}."
