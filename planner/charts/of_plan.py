"""The pictures of the Plan page, in their order."""

from collections.abc import Iterator

from planner.charts import bars, lines, loads
from planner.charts.labelled import pair
from planner.charts.picture import Picture
from planner.serving import Served


def pictures(served: Served) -> Iterator[Picture]:
    """Each picture of a plan, worked out when it is asked for.

    With the ideal engine the model stands beside its counterpart with heads shared, or not shared;
    with any other, the engine stands beside the ideal one.
    """
    own, shown = pair(served)
    if served.ideal:
        yield bars.memory("memory", "Memory at this load", shown)
        yield lines.latency("latency", shown, own)
        yield loads.fit("Where it fits", shown, own)
        yield bars.step("step", shown)
    else:
        yield bars.memory("engine_memory", "Memory at this load", shown)
        yield lines.latency("engine_latency", shown, own)
        yield bars.step("engine_step", shown)
        yield bars.first("engine_first", shown)
        own, shown = pair(shown[0].served)
        yield loads.fit("Where weights and cache fit, nothing reserved", shown, own)
    if served.plan.scenario.layout.devices > 1:
        yield bars.devices(served)
    if served.plan.model.experts:
        yield loads.experts(served)
