"""Served plans as pictures show them: each under its label, beside others.

The ideal engine is one of them like any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from planner import describe
from planner.inputs.scenario import Scenario
from planner.plan import Plan, plan
from planner.pools import longest_context
from planner.serving import Served, serve


@dataclass(frozen=True, eq=False)
class Labelled:
    """A served plan under its label: one bar or one line of a picture.

    label: what it is called in sentences and tables. changes: what its plan has instead of the
    scenario's own, as `plan` takes it. ink: the tone and dash of its line in `charts.style`. bar,
    line: what it is called at its bar and at its line, where there is room for less.
    """

    label: str
    served: Served
    changes: Mapping = field(default_factory=dict)
    ink: int = 0
    bar: str = ""
    line: str = ""

    @property
    def scenario(self) -> Scenario:
        return self.served.plan.scenario

    def planned(self, **varied) -> Plan:
        """Its plan with other numbers, or over a range of them, as `plan` takes them."""
        return plan(self.scenario, **{**self.changes, **varied})

    def swept(self, **varied) -> Served:
        """The same with its engine."""
        return serve(self.planned(**varied), engine=self.served.engine)

    @cached_property
    def longest(self) -> float:
        """The longest context at which the load fits, in tokens."""
        return float(_longest(self.served, self.served.plan))

    def longest_at(self, concurrency):
        """The longest context at which so many requests fit, in tokens; of any shape."""
        return _longest(self.served, self.planned(concurrency=concurrency))


def _longest(served, own):
    """By counting alone, or by the pool of the engine."""
    return own.max_context_tokens if served.ideal else longest_context(own, served.engine)


def labelled(label: str, scenario: Scenario, ink: int = 0, **changes) -> Labelled:
    """A scenario with its engine under a label. changes: to its plan, as `plan` takes them."""
    return Labelled(label, serve(plan(scenario, **changes)), changes, ink)


def pair(served: Served) -> tuple[Labelled, list[Labelled]]:
    """A plan under its label, and with what it is held against, in the order they are shown in.

    With an engine that is the ideal one, first. With the ideal engine it is the same model with its
    heads shared, or not shared, the one with the larger cache first; none that is called the same.
    """
    scenario, model = served.plan.scenario, served.plan.model
    if not served.ideal:
        name = served.engine.name
        own = Labelled(name, served, line=name.partition(",")[0])
        ideal = replace(scenario, engine="ideal", set="")
        return own, [labelled("ideal", ideal, ink=1), own]
    own, counterpart = Labelled(describe.variant(model), served), model.counterpart()
    name = describe.variant(counterpart)
    if name == own.label:
        return own, [own]
    other = labelled(name, scenario, ink=1, model=counterpart)
    return own, sorted([own, other], key=lambda each: -each.served.plan.cache_bytes)
