"""A drafter on devices: what it holds there beside the model, and what a guess reads."""

from dataclasses import dataclass, replace

from planner.hardware import parallel
from planner.hardware.parallel import Layout, Stage


@dataclass(frozen=True)
class Draft:
    """Who guesses tokens ahead, on one device.

    drafter: a `drafting.Drafter`; weights: of what one guess runs through, a `precision.Weights` in
    the format `stored`; stage: what that reads; held_bytes: all weights that are resident for it;
    tokens: guessed in a step; accepted: that a step yields in the mean.
    """

    drafter: object
    weights: object
    stored: str
    stage: Stage
    held_bytes: float
    tokens: int
    accepted: float

    def request_bytes(self, context_tokens):
        """Cache of one request on a device."""
        return self.drafter.copies * self.stage.request_bytes(context_tokens)


def cut(drafter, layout: Layout) -> Layout:
    """How a drafter lies on the devices of a model: cut as it, or whole on each of a group.

    Whole where its heads do not divide.
    """
    alike = Layout(tensor=layout.tensor, data=layout.data)
    refused = parallel.refusals(alike, drafter.model, alike.devices)
    return Layout(data=layout.data) if refused else alike


def on_devices(drafter, weights, stored, layout: Layout, tokens, accepted, **widths) -> Draft:
    """A drafter on the devices of a layout without pipeline stages; see `Draft`.

    widths: of a stored element of keys and values, as `parallel.stages` takes them.
    """
    own = cut(drafter, layout)
    (stage,) = parallel.stages(own, drafter.model.groups, weights, **widths)
    shared = weights.head / own.tensor if drafter.shares_head else 0.0
    held = drafter.copies * (stage.weights_bytes - shared)
    return Draft(drafter, weights, stored, stage, held, tokens, accepted)


def beside(stage: Stage, draft: Draft | None) -> Stage:
    """A stage with the weights of what drafts, and its layers among its own."""
    if draft is None:
        return stage
    copies, more, groups = draft.drafter.copies, draft.stage, list(stage.groups)
    for group in more.groups:
        added = replace(group, layers=group.layers * copies)
        alike = [n for n, own in enumerate(groups) if replace(own, layers=added.layers) == added]
        if alike:
            own = groups[alike[0]]
            groups[alike[0]] = replace(own, layers=own.layers + added.layers)
        else:
            groups.append(added)
    return replace(
        stage,
        groups=tuple(groups),
        weights_bytes=stage.weights_bytes + draft.held_bytes,
        fixed_bytes=stage.fixed_bytes + copies * more.fixed_bytes,
        bytes_per_token=stage.bytes_per_token + tuple(copies * p for p in more.bytes_per_token),
        windows=stage.windows + more.windows,
        reads=stage.reads + tuple((copies * p, w) for p, w in more.reads),
    )
