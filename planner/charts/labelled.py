"""Served plans as pictures show them: each under its label, beside others.

The ideal engine is one of them like any other.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

from planner import describe
from planner.inputs.scenario import Scenario
from planner.plan import plan
from planner.serving import Served, longest_context, serve


@dataclass(frozen=True, eq=False)
class Labelled:
    """A served plan under its label: one bar or one line of a picture.

    label: what it is called in sentences and tables. swept: the same plan over a range, called with
    the numbers that vary, as `plan` is. ink: the tone and dash of its line in `charts.style`. bar,
    line: what it is called at its bar and at its line, where there is room for less.
    """

    label: str
    served: Served
    swept: Callable[..., Served]
    ink: int = 0
    bar: str = ""
    line: str = ""

    @property
    def scenario(self) -> Scenario:
        return self.served.plan.scenario

    @cached_property
    def longest(self) -> float:
        """The longest context at which the load fits, in tokens."""
        return float(longest(self.served))


def longest(served: Served):
    """The longest context at which a load fits, by the engine's own pool; of each concurrency."""
    if served.ideal:
        return served.plan.max_context_tokens
    return longest_context(served.plan, served.engine)


def labelled(label: str, scenario: Scenario, ink: int = 0, **changes) -> Labelled:
    """A scenario with its engine under a label. changes: to its plan, as `plan` takes them."""
    swept = partial(_served, scenario, **changes)
    return Labelled(label, swept(), swept, ink)


def _served(scenario, **varied):
    return serve(plan(scenario, **varied))


def pair(served: Served) -> tuple[Labelled, list[Labelled]]:
    """A plan under its label, and with what it is held against, in the order they are shown in.

    With an engine that is the ideal one, first. With the ideal engine it is the same model with its
    heads shared, or not shared, the one with the larger cache first; none where it has no heads.
    """
    scenario, model = served.plan.scenario, served.plan.model
    swept = partial(_served, scenario)
    if not served.ideal:
        name = served.engine.name
        own = Labelled(name, served, swept, line=name.partition(",")[0])
        return own, [labelled("ideal", ideal(scenario), ink=1), own]
    own, counterpart = Labelled(describe.variant(model), served, swept), model.counterpart()
    if counterpart == model:
        return own, [own]
    other = labelled(describe.variant(counterpart), scenario, ink=1, model=counterpart)
    return own, sorted([own, other], key=lambda each: -each.served.plan.cache_bytes)


def ideal(scenario: Scenario) -> Scenario:
    """The same scenario with the ideal engine, unchanged."""
    return replace(scenario, engine="ideal", set="")
