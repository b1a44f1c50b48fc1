"""The player: one token after another, with and without a cache, as a browser component shows it.

A step's data is what `stored.vectors` says; the component moves it and counts along, and has no
rule of its own.
"""

from planner.lesson import stored
from planner.lesson.attention import SENTENCE
from planner.lesson.states import MOST_PROMPT, MOST_STEPS
from planner.lesson.view import Scene

TOTAL_TOKENS = MOST_PROMPT + MOST_STEPS - 1
WORDS = SENTENCE[:TOTAL_TOKENS]


def scene(prompt: int, step: int, cached: bool, gives: tuple[str, ...]) -> Scene:
    """All steps of a prompt, played from `step`; the lane that the page is about comes first."""
    ways = (cached, not cached)
    steps = [
        {
            "tokens": prompt + at - 1,
            "lanes": [_lane(prompt, at, way) for way in ways],
        }
        for at in range(1, MOST_STEPS + 1)
    ]
    return Scene(
        "player",
        "Token by token",
        {
            "words": WORDS,
            "lanes": [_name(way) for way in ways],
            "steps": steps,
            "step": step,
            "parameter": "step",
        },
        f"The sentence “{' '.join(WORDS[: prompt + step - 1])}” at step {step}. With a cache the "
        f"newest token's key and value are added to those stored; without one all are computed "
        f"again.",
        gives,
    )


def _name(cached):
    return "With a cache" if cached else "Without a cache"


def _lane(prompt, step, cached):
    """What a lane does in a step: each token's state, and pairs computed and read so far."""
    so_far = [stored.states("key", prompt, at, cached) for at in range(1, step + 1)]
    read = [keys.count(stored.READ) for keys in so_far]
    return {
        "keys": so_far[-1],
        "queries": stored.states("query", prompt, step, cached),
        "computed": sum(map(len, so_far)) - sum(read),
        "read": sum(read),
    }
