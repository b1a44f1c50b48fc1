"""What each Learn page can be set to, and the link that carries it: a table, read one way.

A name, once used in a link, keeps its meaning; a parameter added later takes as its default what
older links meant by its absence.
"""

from collections.abc import Mapping, Sequence

from planner.inputs import presets
from planner.inputs.link import Choice, Notice, Number, read_values, write
from planner.lesson import attention, operations, words


def _whole(label, unit, least, most):
    return Number(label, unit, least, most, whole=True)


DEVICES = {row.id: row.name for row in presets.accelerators().values()}
LESSON_MODELS = {"lesson-7b-mha": "7B, MHA", "lesson-7b-gqa": "7B, GQA"}
SEED = _whole("Seed", "", 0, 999_999)
SLIDES_TO = {"seed": 30}  # where a slider ends before its number does; the exact field takes more
MOST_STEPS, MOST_PROMPT = 6, 5  # of the small attention that is drawn
LAST_TICK = 199

# page -> parameter -> (what it may be, what it is at first)
PAGES: dict[str, dict[str, tuple[Number | Choice, float | str]]] = {
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
    "proof": {
        "mistake": (
            Choice(
                "Mistake",
                {"none": "none, done right"} | {m.id: m.name for m in attention.MISTAKES.values()},
            ),
            "none",
        ),
        "precision": (
            Choice("Precision", {"float32": "32 bits", "float64": "64 bits"}),
            "float32",
        ),
        "seed": (SEED, 0),
    },
    "phases": {
        "batch": (_whole("Batch", "requests", 1, 1024), 1),
        "prompt": (_whole("Prompt", "tokens", 128, 131_072), 2048),
        "output": (_whole("Answer", "tokens", 1, 4096), 256),
        "model": (Choice("Model", LESSON_MODELS), "lesson-7b-gqa"),
        "device": (Choice("Device", DEVICES), "lesson"),
    },
    "cost": {
        "heads": (
            Choice(
                "Key-value heads", {"32": "32 (MHA)", "8": "8 (GQA)", "1": "1 (MQA)", "mla": "MLA"}
            ),
            "32",
        ),
        "bits": (Choice("Bits", {"16": "16", "8": "8", "4": "4"}), "16"),
        "window": (Choice("Window", {"none": "none", "4096": "4,096 tokens"}), "none"),
        "context": (_whole("Context", "tokens", 128, 131_072), 8192),
        "concurrency": (_whole("Concurrency", "requests", 1, 1024), 16),
    },
    "managing": {
        "tick": (_whole("Time", "ticks", 0, LAST_TICK), 120),
        "arrivals": (_whole("Arrivals a tick", "%", 0, 60), 15),
        "prefix": (
            Choice(
                "Shared beginning",
                {"0": "none"} | {text: f"{text} tokens" for text in ("16", "32", "48", "64")},
            ),
            "48",
        ),
        "leak": (_whole("Never given back", "%", 0, 50), 0),
        "seed": (SEED, 0),
    },
    "speed": {
        "context": (_whole("Context", "tokens", 128, 131_072), 8192),
        "concurrency": (_whole("Concurrency", "requests", 1, 1024), 1),
    },
    "check": {
        "seed": (SEED, 1),
        "topic": (
            Choice(
                "Questions",
                {"all": "a dozen of all"}
                | {page.id: page.title for page in words.pages().values() if page.id != "check"},
            ),
            "all",
        ),
    },
}  # fmt: skip


def start(page: str) -> dict[str, float | str]:
    """What a page shows where its link says nothing."""
    return {name: first for name, (_, first) in PAGES[page].items()}


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
