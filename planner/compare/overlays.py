"""The two pictures of a comparison: memory as bars, TPOT as lines, all plans overlaid."""

from collections.abc import Iterator

from planner.charts import bars, lines
from planner.charts.labelled import Labelled
from planner.charts.picture import Picture
from planner.compare.differences import Shown
from planner.models.notation import shorten

AXIS_SIGNS = 22  # of a name on an axis
LINE_SIGNS = 18  # of one at the end of a line


def pictures(all_: list[Shown]) -> Iterator[Picture]:
    """Each picture of a comparison, worked out when it is asked for."""
    shown = [labelled(each, ink) for ink, each in enumerate(all_)]
    yield bars.memory("overlaid_memory", "Memory of the fullest device", shown)
    yield lines.latency("overlaid_latency", shown)


def labelled(each: Shown, ink: int = 0) -> Labelled:
    """A plan of a comparison as pictures show it: its name at its line and at its bar."""
    changes = each.mistake.change(each.scenario) if each.mistake else {}
    return Labelled(each.label, each.evaluation, changes, ink, short(each), _at_line(each))


def _at_line(each):
    wrong = " (wrong)" if each.mistake else ""
    return shorten(each.name.removesuffix(wrong), LINE_SIGNS - len(wrong)) + wrong


def short(each: Shown) -> str:
    """What a plan is called, as far as an axis has room: never cut off is that it is wrong."""
    wrong = " (wrong)" if each.mistake else ""
    return shorten(each.label.removesuffix(wrong), AXIS_SIGNS - len(wrong)) + wrong
