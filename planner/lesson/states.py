"""What each Learn page can be set to, and the link that carries it: a table, read one way.

A name, once used in a link, keeps its meaning; a parameter added later takes as its default what
older links meant by its absence.
"""

import random
from collections.abc import Mapping, Sequence

from planner.inputs import presets
from planner.inputs.link import Choice, Named, Notice, Number, read_values, write
from planner.lesson import attention, knee, operations, past, practice, questions, words
from planner.models.notation import shorten


def _whole(label, unit, least, most):
    return Number(label, unit, least, most, whole=True)


def _levers(text):
    """Levers of a task by their ids, with commas between; ValueError where one is unknown."""
    known = {lever.id for task in practice.tasks().values() for lever in task.levers}
    for each in filter(None, text.split(",")):
        if each not in known:
            raise ValueError(f"“{shorten(each, 20)}” is no lever")


DEVICES = {row.id: row.name for row in presets.accelerators().values()}
LESSON_MODELS = {"lesson-7b-mha": "7B, MHA", "lesson-7b-gqa": "7B, GQA"}
SEED = _whole("Seed", "", 0, 999_999)
SLIDES_TO = {"seed": 30}  # where a slider ends before its number does; the exact field takes more
MOST_STEPS, MOST_PROMPT = 6, 5  # of the small attention that is drawn
LAST_TICK = 199

# page -> parameter -> (what it may be, what it is at first)
PAGES: dict[str, dict[str, tuple[Number | Choice | Named, float | str]]] = {
    "lesson": {},
    "why": {
        "steps": (_whole("Steps", "tokens", 1, 100_000), operations.FIRST_STEPS),
        "width": (_whole("Width d", "", 1, 16_384), operations.FIRST_WIDTH),
        "axes": (Choice("Axes", {"linear": "linear", "log": "logarithmic"}), "linear"),
    },
    "stored": {
        "step": (_whole("Step", "", 1, MOST_STEPS), 3),
        "prompt": (_whole("Prompt", "tokens", 1, MOST_PROMPT), 4),
        "cache": (Choice("Cache", {"with": "with a cache", "without": "without"}), "with"),
    },
    "past": {
        "edit": (
            Choice(
                "Edit",
                {past.CHANGE: "change a word", past.APPEND: "append one", past.NOTHING: "none"},
            ),
            past.CHANGE,
        ),
        "place": (_whole("Word", "of 10", 1, len(past.WORDS)), 3),
        "mask": (Choice("Causal mask", {"causal": "on", "none": "lifted"}), "causal"),
    },
    "proof": {
        "mistake": (
            Choice(
                "Mistake",
                {"none": "none, done right"} | {m.id: m.name for m in attention.MISTAKES.values()},
            ),
            "none",
        ),
        "precision": (
            Choice(
                "Precision", {name: f"{bits} bits" for name, bits in attention.PRECISIONS.items()}
            ),
            "float32",
        ),
        "seed": (SEED, 0),
    },
    "phases": {
        "batch": (_whole("Batch", "requests", 1, 1024), 1),
        "prompt": (_whole("Prompt", "tokens", 128, 131_072), 2048),
        "output": (_whole("Output", "tokens", 1, 4096), 256),
        "model": (Choice("Model", LESSON_MODELS), "lesson-7b-gqa"),
        "device": (Choice("Device", DEVICES), "lesson"),
        "prefix": (_whole("Shared prefix in cache", "tokens", 0, 131_072), 0),
    },
    "cost": {
        "heads": (
            Choice(
                "Key-value heads",
                {"32": "32 (MHA)", "16": "16", "8": "8 (GQA)", "4": "4", "2": "2", "1": "1 (MQA)",
                 "mla": "MLA, one latent"},
            ),
            "32",
        ),
        "bits": (Choice("Bits a number", {"16": "16", "8": "8", "4": "4"}), "16"),
        "window": (Choice("Window", {"none": "none", "4096": "4,096 tokens"}), "none"),
        "context": (_whole("Context", "tokens", 128, 131_072), 8192),
        "concurrency": (_whole("Concurrency", "requests", 1, 1024), 16),
        "layers": (_whole("Layers", "", 1, 200), 32),
        "dim": (_whole("Head dimension", "", 16, 512), 128),
    },
    "managing": {
        "tick": (_whole("Time", "ticks", 0, LAST_TICK), 120),
        "arrivals": (_whole("Arrival rate", "% a tick", 0, 60), 15),
        "prefix": (
            Choice(
                "Shared prefix",
                {"0": "none"} | {text: f"{text} tokens" for text in ("16", "32", "48", "64")},
            ),
            "48",
        ),
        "leak": (_whole("Leaked requests", "%", 0, 50), 0),
        "seed": (SEED, 0),
    },
    "speed": {
        "context": (_whole("Context", "tokens", 128, 131_072), 8192),
        "concurrency": (_whole("Concurrency", "requests", 1, 1024), 1),
        "bandwidth": (_whole("Bandwidth", "GB/s", 10, 20_000), 1000),
    },
    "fit": {
        "task": (
            Choice("Task", {task.id: task.text for task in practice.tasks().values()}),
            next(iter(practice.tasks())),
        ),
        "pulled": (Named(_levers, lambda default: "none is pulled instead"), ""),
    },
    "diagnose": {
        "card": (
            Choice("Card", {card.id: card.title for card in practice.cards().values()}),
            next(iter(practice.cards())),
        ),
    },
    "knee": {
        "series": (
            Choice("Measured", {each.id: each.name for each in knee.SERIES.values()}),
            next(iter(knee.SERIES)),
        ),
        "batch": (_whole("Batch", "requests", 1, knee.MOST_BATCH), 1),
        "dots": (Choice("Measurements", {"hidden": "hidden", "shown": "shown"}), "hidden"),
    },
    "check": {
        "seed": (SEED, 1),
        "topic": (
            Choice(
                "Questions",
                {"all": "a dozen of all"}
                | {page: words.pages()[page].title for page in questions.pages_of()},
            ),
            "all",
        ),
        "show": (Choice("Show", {"all": "all", "one": "one at a time"}), "all"),
        "number": (_whole("Question", "", 1, 99), 1),
        # Which questions a dozen of all is drawn from: links from before there were more have none.
        "edition": (
            Choice("Edition", {str(each): str(each) for each in range(1, questions.EDITION + 1)}),
            "1",
        ),
    },
}  # fmt: skip


def start(page: str) -> dict[str, float | str]:
    """What a page shows where its link says nothing."""
    return {name: first for name, (_, first) in PAGES[page].items()}


def own_seed() -> int:
    """A seed for numbers that nobody else is given."""
    return random.SystemRandom().randint(1, int(SEED.maximum))


def encode(page: str, values: Mapping[str, float | str]) -> str:
    """The query string that holds a page's whole state, in one fixed order."""
    return write({name: values[name] for name in PAGES[page]})


def decode(
    page: str, query: str | Mapping[str, Sequence[str]]
) -> tuple[dict[str, float | str], tuple[Notice, ...]]:
    """The state that a link holds, and what in it could not be taken as it stands. Never raises."""
    kinds = {name: kind for name, (kind, _) in PAGES[page].items()}
    values, notices = read_values(query, kinds, lambda name, _: PAGES[page][name][1])
    return values, tuple(notices)
