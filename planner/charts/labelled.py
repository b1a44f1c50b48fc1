"""Evaluations as pictures show them: each under its label, beside others.

The ideal engine is one of them like any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planner import describe
from planner.inputs.scenario import Scenario
from planner.serving import Evaluation, evaluate


@dataclass(frozen=True, eq=False)
class Labelled:
    """An evaluation under its label: one bar or one line of a picture.

    label: what it is called in sentences and tables. changes: what it has instead of the
    scenario's own, as `evaluate` takes it. ink: the tone and dash of its line in `charts.style`.
    bar, line: what it is called at its bar and at its line, where there is room for less.
    """

    label: str
    evaluation: Evaluation
    changes: Mapping = field(default_factory=dict)
    ink: int = 0
    bar: str = ""
    line: str = ""

    @property
    def scenario(self) -> Scenario:
        return self.evaluation.plan.scenario

    def swept(self, **varied) -> Evaluation:
        """The same with other numbers, or over a range of them, as `evaluate` takes them."""
        return evaluate(self.scenario, **{**self.changes, **varied})

    @property
    def longest(self) -> float:
        """The longest context at which the load fits, in tokens."""
        return float(self.evaluation.max_context_tokens)

    def longest_at(self, concurrency, **varied):
        """The longest context at which so many requests fit, in tokens; of any shape."""
        return self.swept(concurrency=concurrency, **varied).max_context_tokens


def labelled(label: str, scenario: Scenario, ink: int = 0, **changes) -> Labelled:
    """A scenario worked out under a label. changes: what it has instead, as `evaluate` takes it."""
    return Labelled(label, evaluate(scenario, **changes), changes, ink)


def pair(evaluation: Evaluation) -> tuple[Labelled, list[Labelled]]:
    """A plan under its label, and with what it is held against, in the order they are shown in.

    With an engine that is the ideal one, first. With the ideal engine it is the same model with its
    heads shared, or not shared, the one with the larger cache first; none that is called the same.
    """
    scenario, model = evaluation.plan.scenario, evaluation.plan.model
    if not evaluation.ideal:
        name = evaluation.engine.name
        own = Labelled(name, evaluation, line=name.partition(",")[0])
        ideal = replace(scenario, engine="ideal", set="")
        return own, [labelled("ideal", ideal, ink=1), own]
    own, counterpart = Labelled(describe.variant(model), evaluation), model.counterpart()
    other = labelled(describe.variant(counterpart), scenario, ink=1, model=counterpart)
    if other.label == own.label:
        return own, [own]
    short = [each.label.partition(",")[0] for each in (own, other)]
    if short[0] != short[1]:
        own, other = (
            replace(each, line=name) for each, name in zip((own, other), short, strict=True)
        )
    return own, sorted([own, other], key=lambda each: -each.evaluation.plan.cache_bytes)
