"""The measurements as the fit takes them: what each asks of a device, all rows as one `Work`.

Each row is evaluated as the plan that it is of (`measurements.evaluated`), so that constants are
fitted on the very numbers that a plan is predicted by.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from planner.engines.passes import Host, Kernel, Kernels, Work
from planner.engines.timing import KernelTiming, loaded_step
from planner.evidence import measurements
from planner.latency.measured import Setup, Witnesses


@dataclass(frozen=True)
class Rows:
    """Rows of one kind. columns: as measured. requests: that run, of each data-parallel group;
    full: those asked for in those that the pool holds; output_tokens: ∞ of fixed batches. timing:
    with arrays of kernels, None where engines are not timed by kernels."""

    columns: dict[str, np.ndarray]
    work: Work
    setups: list[Setup]
    requests: np.ndarray
    full: np.ndarray
    output_tokens: np.ndarray
    pass_tokens: np.ndarray
    timing: KernelTiming | None

    def __len__(self):
        return len(self.requests)

    def __getitem__(self, name):
        return self.columns[name]

    @property
    def measured_s(self):
        return self.columns["measured_s"]

    @property
    def fitted(self):
        return self.columns["fitted"]

    @property
    def reference(self):
        """Rows with what was asked, not what ran, that are fitted: those that bands are made of."""
        return (self.columns["load"] == "asked") & self.fitted

    @property
    def family(self):
        return np.array([each.family for each in self.setups])

    @property
    def setup(self):
        """A name of each row's set-up: model, device, engine, whatever the format of weights."""
        return np.array([f"{s.shape}|{s.device}|{s.family}" for s in self.setups])

    @property
    def group(self):
        """A name of the set-up with its format."""
        return np.char.add(np.char.add(self.setup, "|"), self["weights"].astype(str))

    @property
    def sweep(self):
        """A name of the set-up, format, layout, version and lengths: requests alone vary."""
        names = ("tensor", "expert", "version", "prompt_tokens", "output_tokens")
        own = ["|".join(map(str, each)) for each in zip(*(self[n] for n in names), strict=True)]
        return np.char.add(np.char.add(self.group, "|"), own)

    def only(self, here):
        """The rows where `here` is true."""
        timing = self.timing
        if timing:
            timing = replace(
                timing, kernels=_picked(timing.kernels, here), mixes=timing.mixes[here]
            )
        return Rows(
            {name: values[here] for name, values in self.columns.items()},
            Work(**{f.name: getattr(self.work, f.name)[here] for f in fields(Work)}),
            [setup for setup, kept in zip(self.setups, here, strict=True) if kept],
            self.requests[here],
            self.full[here],
            self.output_tokens[here],
            self.pass_tokens[here],
            timing,
        )

    def step_s(self, host: Host):
        """Seconds of every row's step by its kernels."""
        timing = replace(self.timing, host=host)
        return loaded_step(
            timing, self.work, self.requests, self.output_tokens, self.pass_tokens
        ).total_s

    def witnesses(self, predicted_s) -> Witnesses:
        """The rows as witnesses, by what they were predicted as."""
        names = ("id", "model", "weights", "device", "tensor", "prompt_tokens", "source")
        return Witnesses(
            **{name: self[name] for name in names},
            family=self.family,
            running=self.requests,
            output_tokens=np.where(np.isinf(self.output_tokens), 0.0, self.output_tokens),
            reference=self.reference,
            measured_s=self.measured_s,
            predicted_s=predicted_s,
        )


def _picked(kernels, here):
    def kernel(each):
        return Kernel(*(getattr(each, field.name)[here] for field in fields(Kernel)))

    return Kernels(*(kernel(getattr(kernels, field.name)) for field in fields(Kernels)))


def gather(columns, by_kernels: bool) -> Rows:
    """Rows of measurements, evaluated; by_kernels: those of serving engines, else the others."""
    count = len(columns["id"])
    work = {field.name: np.zeros(count) for field in fields(Work)}
    kernels = {
        (op.name, field.name): np.zeros(count) for op in fields(Kernels) for field in fields(Kernel)
    }
    requests, full, pass_tokens, mixes = (np.zeros(count) for _ in range(4))
    setups, kept, timing = [None] * count, np.zeros(count, bool), None
    for at, evaluation in measurements.evaluated(columns):
        estimate = evaluation.estimate
        if isinstance(estimate.timing, KernelTiming) != by_kernels:
            continue
        kept[at] = True
        for name, values in work.items():
            values[at] = getattr(estimate.work, name)
        requests[at], pass_tokens[at] = estimate.requests, evaluation.engine.batched_tokens
        full[at] = evaluation.fullness
        for place in at:
            setups[place] = estimate.setup
        if by_kernels:
            timing, mixes[at] = estimate.timing, estimate.timing.mixes
            for (operation, name), values in kernels.items():
                values[at] = getattr(getattr(timing.kernels, operation), name)
    if by_kernels:
        made = [
            Kernel(*(kernels[op.name, field.name] for field in fields(Kernel)))
            for op in fields(Kernels)
        ]
        timing = replace(timing, kernels=Kernels(*made), mixes=mixes > 0)
    output = np.where(columns["phase"] == "serving", columns["output_tokens"], np.inf)
    every = Rows(columns, Work(**work), setups, requests, full, output, pass_tokens, timing)
    return every.only(kept)
