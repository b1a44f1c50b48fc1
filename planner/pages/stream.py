"""Text that streams in the browser at given speeds, lane beside lane."""

from planner.lesson import streaming
from planner.pages.components import component

_stream = component("stream")


def texts(lanes: list[dict]):
    """Lanes of `label` and `words_per_s`, all with the lesson's text, started by a button."""
    _stream(key="stream", data={"words": streaming.pieces(), "lanes": lanes})
