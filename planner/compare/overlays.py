"""The two pictures of a comparison: memory as bars, time per token as lines, all plans overlaid."""

from planner.charts import bars, lines
from planner.charts.labelled import Labelled
from planner.charts.picture import Picture
from planner.compare.differences import Shown
from planner.models.notation import shorten

AXIS_SIGNS = 22  # of a name on an axis


def pictures(all_: list[Shown]) -> list[Picture]:
    """The pictures of a comparison, in their order."""
    shown = [labelled(each, ink) for ink, each in enumerate(all_)]
    return [
        bars.memory("overlaid_memory", "Memory of the fullest device", shown),
        lines.latency("overlaid_latency", shown),
    ]


def labelled(each: Shown, ink: int = 0) -> Labelled:
    """A plan of a comparison as pictures show it: its letter at its line, its name at its bar."""
    if not each.mistake:
        return Labelled(each.label, each.served, {}, ink, short(each), each.letter)
    changes = {**each.mistake.change(each.scenario)}
    changes.pop("engine", None)  # the served plan has it
    line = f"{each.letter} (wrong)"
    return Labelled(each.label, each.served, changes, ink, short(each), line)


def short(each: Shown) -> str:
    """What a plan is called, as far as an axis has room: never cut off is that it is wrong."""
    wrong = " (wrong)" if each.mistake else ""
    return shorten(each.label.removesuffix(wrong), AXIS_SIGNS - len(wrong)) + wrong
