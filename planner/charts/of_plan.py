"""The pictures of the Plan page, in their order."""

from collections.abc import Iterator

from planner.charts import bars, lines, loads
from planner.charts.labelled import pair
from planner.charts.picture import Picture
from planner.serving import Evaluation


def pictures(evaluation: Evaluation, labels=None) -> Iterator[Picture]:
    """Each picture of a plan, worked out when it is asked for.

    With the ideal engine the model stands beside its counterpart with heads shared, or not shared;
    with any other, the engine stands beside the ideal one. labels: what `pair` gives, where that is
    there already.
    """
    own, shown = labels or pair(evaluation)
    engine = "" if evaluation.ideal else "engine_"
    yield bars.memory(f"{engine}memory", "Memory at this load", shown)
    yield lines.latency(f"{engine}latency", shown, own)
    yield loads.fit(shown, own)
    yield bars.step(f"{engine}step", shown)
    if engine:
        yield bars.first("engine_first", shown)
    if evaluation.plan.scenario.layout.devices > 1:
        yield bars.devices(evaluation)
    if evaluation.plan.model.experts:
        yield loads.experts(evaluation)
