"""Many deployments at once: their curves, from the functions that `evaluate` puts together for one.

A row's figures come from small tables (one for each layout and format, one for each device and
format), so that a hundred thousand rows cost a few hundred calls. A test holds every row against
`steady.curve_of`.
"""

from dataclasses import fields, replace

import numpy as np

from planner.asked import guess_of
from planner.engines.defaults import step_defaults
from planner.engines.memory import Engine
from planner.engines.passes import Kernel, Kernels, Work
from planner.engines.timing import by_kernels, loaded_step, serving_engines
from planner.inputs import overrides, presets
from planner.inputs.scenario import Scenario
from planner.latency import guesses, measured
from planner.latency.guesses import Guess
from planner.latency.measured import Setup
from planner.latency.work import Formats, Host, Load, Rates, kernels, of_device, work
from planner.plan import inputs_of, weights_of
from planner.plan import plan as plan_of
from planner.pools import most_requests, reserve
from planner.sizing import curve as curves
from planner.sizing.curve import GRID, MOST_RUNNING, Curve
from planner.sizing.space import Choices
from planner.sizing.steady import first_tokens_s, most_scheduled, tail_prompt
from planner.sizing.workload import Promise, Workload
from planner.units import GB, TERA

CHUNK = 2000  # rows worked out at once, so that their arrays stay in the processor's caches
OF_DEVICE = ("batched_tokens", "logit_rows", "fraction")  # what an engine sets by the device
LENGTHS_OF = ("prompt_tokens", "prompt_flops")  # what of a Work the tail's prompt has of its own


class Tables:
    """What rows have in common, worked out once: pools, works and kernels of a space's choices."""

    def __init__(self, every: Choices, workload: Workload, promise: Promise):
        self.every, self.workload, self.promise = every, workload, promise
        self.model = every.space.the_model
        self.devices = [presets.accelerator(each) for each in every.devices]
        self.rates = [Rates(d, d.bandwidth_gb_s * GB, d.fp16_tflops * TERA) for d in self.devices]
        self.memory = np.round(np.array([each.memory_gb for each in self.devices]) * GB)
        self.alike = _alike(self.devices)
        self.engines, self.known, self.found, self.guessed = {}, {}, {}, {}
        own = every.scenario(0) if len(every) else Scenario(every.space.model)
        self.host = Host(own.placed, own.host_bandwidth * GB, own.host_link * GB)
        self.shared_by, self.draft = own.dcp, own.draft
        self.given = overrides.read(own.set)
        self.formats = [
            Formats(
                weights_of(self.model, weight),
                presets.weight_format(weight),
                *(presets.cache_format(cache),) * 2,
            )
            for weight in every.weights
            for cache in every.caches
        ]

    def format_of(self, rows: Choices):
        """The row's place in `formats`."""
        return rows.weight * len(self.every.caches) + rows.cache

    def most(self, rows: Choices):
        """Requests that each row's pool admits at once; 0 where it cannot hold one of the longest.

        Asked of the pool itself, once for each layout, format and engine.
        """
        kinds, member = _kinds(self.format_of(rows), rows.layout, rows.engine)
        order = np.argsort(member, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(member))[:-1])
        found, made = np.zeros(len(rows)), {}
        for (form, layout, engine), own in zip(kinds, members, strict=True):
            if (form, layout) not in made:
                made[form, layout] = self._inputs(rows, own[0])
            found[own] = self._held(made[form, layout], rows.engines[engine], rows.device[own])
        return found

    def _inputs(self, rows, row):
        scenario = replace(rows.scenario(row), engine="ideal")
        return inputs_of(scenario, self.model, scenario.the_device, {})

    def _held(self, inputs, engine, devices):
        """What an engine admits on each of some devices."""
        scenario = replace(inputs.scenario, engine=engine)
        own = self._engine(scenario)
        own = replace(own, **{name: getattr(own, name)[devices] for name in OF_DEVICE})
        workload = self.workload
        held = workload.held_tokens
        whole = serving_engines()[engine]["whole_requests"] == "yes"
        admitted = max(held, workload.prompt.mean + workload.written.mean) if whole else held
        plan = replace(
            inputs,
            scenario=scenario,
            memory_usable_bytes=self.memory[devices],
            context_tokens=np.array([admitted, held, workload.longest_tokens])[:, None],
        )
        admitted, held, longest = most_requests(reserve(plan, own), scenario)
        fewest = np.minimum(np.minimum(admitted, held), most_scheduled(own, scenario.dp))
        return np.where(longest >= 1, np.minimum(fewest, MOST_RUNNING), 0.0)

    def _engine(self, scenario):
        """A scenario's engine as it sets itself up on every device: `OF_DEVICE` are arrays."""
        key = (scenario.engine, scenario.tp, scenario.pp)
        if key not in self.engines:
            named = [row.devices for row in step_defaults().get(scenario.engine, ())]
            alike = {}
            for place, device in enumerate(self.every.devices):
                alike.setdefault(tuple(device in each for each in named), []).append(place)
            figures = {name: np.zeros(len(self.devices)) for name in OF_DEVICE}
            for places in alike.values():
                first = replace(scenario, device=self.every.devices[places[0]])
                own = first.engine_with(self.memory[places])
                for name, table in figures.items():
                    table[places] = getattr(own, name)
            plain = overrides.apply_engine(presets.engine(scenario.engine), self.given)
            self.engines[key] = replace(plain, **figures)
        return self.engines[key]

    def works(self, rows: Choices) -> tuple[Work, Work]:
        """What each row asks of a device, for the mean prompt and for the tail's; columns."""
        workload, form = self.workload, self.format_of(rows)
        prompts = (workload.prompt.mean, round(workload.spared))
        tail, cached = tail_prompt(workload)
        pairs, member = _kinds(form, rows.layout)
        means, tails = (
            [self._work(f, layout, *each) for f, layout in pairs]
            for each in (prompts, (tail, round(cached)))
        )
        device_pairs, device_member = _kinds(form, rows.device)
        devices = [of_device(self.rates[d], self.formats[f]) for f, d in device_pairs]
        base = _columns(list(map(vars, means)), [f.name for f in fields(Work)], member)
        base |= _columns(devices, devices[0], device_member)
        own = base | _columns(list(map(vars, tails)), LENGTHS_OF, member)
        return Work(**base), Work(**own)

    def _work(self, form, layout, prompt, prefix):
        """The work of one format and layout, on the first device."""
        key = (form, layout, prompt)
        if key not in self.known:
            new = prompt - min(prefix, prompt - 1)
            load = Load(self.workload.held_tokens, prompt, new, self.shared_by)
            asked = (self.formats[form], self.every.layouts[layout], self.rates[0], load)
            self.known[key] = work(self.model, *asked, self.host)
        return self.known[key]

    def kernels(self, rows: Choices) -> Kernels:
        """The kernels of each row, their figures as columns."""
        kinds, member = _kinds(self.format_of(rows), rows.layout, self.alike[rows.device])
        table = [self._kernels(f, rows.layouts[layout], device) for f, layout, device in kinds]
        return _kernel_columns(table, member)

    def _kernels(self, form, layout, device):
        """The kernels of one format, layout and device, which ask for the width of a sum alone."""
        key = (form, layout.tensor, layout.data, device)
        if key not in self.found:
            self.found[key] = kernels(self.model, self.formats[form], layout, self.devices[device])
        return self.found[key]

    def guess(self, rows: Choices) -> Guess | None:
        """Who guesses for rows of one engine, its work and kernels as columns; None for nobody."""
        if not self.draft:
            return None
        kinds, member = _kinds(self.format_of(rows), rows.layout, rows.device)
        firsts = np.unique(member, return_index=True)[1]
        table = [
            self._guess(kind, rows, row)
            for kind, row in zip(map(tuple, kinds), firsts, strict=True)
        ]
        names = [each.name for each in fields(Work)]
        timing = by_kernels(
            table[0].timing.engine, _kernel_columns([g.timing.kernels for g in table], member)
        )
        return replace(
            table[0],
            work=Work(**_columns([vars(each.work) for each in table], names, member)),
            timing=timing.changed(overrides.of_time(self.given)),
        )

    def _guess(self, kind, rows, row):
        """The same of one format, layout and device, of the engine of a row."""
        scenario, workload = rows.scenario(row), self.workload
        key = (*kind, scenario.engine)
        if key not in self.guessed:
            lengths = {"context": workload.held_tokens, "prompt": workload.prompt.mean}
            self.guessed[key] = guess_of(plan_of(scenario, **lengths), scenario.engine)
        return self.guessed[key]

    def engine(self, rows: Choices) -> Engine:
        """The engine of rows that have the same one, on the device of each: figures as columns."""
        own = self._engine(rows.scenario(0))
        return replace(
            own, **{name: getattr(own, name)[rows.device][:, None] for name in OF_DEVICE}
        )

    def pull(self, rows: Choices, each):
        """By which factor measurements of the model move a step; each: requests of a group."""
        if overrides.of_time(self.given):
            return 1.0
        layouts = np.array([layout.tensor for layout in rows.layouts])[rows.layout]
        families = [serving_engines()[engine]["family"] for engine in rows.engines]
        shape = measured.shape(self.model)
        kinds, kind = _kinds(rows.device, rows.engine, rows.weight, layouts)
        setups = [
            Setup(shape, rows.devices[d], families[e], rows.weights[w], tensor)
            for d, e, w, tensor in kinds
        ]
        places, where = np.unique(each, return_inverse=True)
        pairs = kind[:, None] * len(places) + where.reshape(each.shape)
        asked, back = np.unique(pairs, return_inverse=True)
        lengths = (
            self.workload.prompt.mean - round(self.workload.spared),
            self.workload.written.mean,
        )
        point = [places, *(np.full(len(places), length) for length in lengths)]
        found = measured.offsets(setups, asked // len(places), point, asked % len(places))
        return np.exp(found)[back.reshape(each.shape)]


def _alike(devices):
    """For each device the first of those with the same units and links, whose kernels are its."""
    units = [name for name in vars(devices[0]) if name.endswith(("tflops", "tops"))]
    kinds = [(e.link_gb_s, *(bool(getattr(e, unit)) for unit in units)) for e in devices]
    return np.array([kinds.index(each) for each in kinds])


def _kinds(*columns):
    """The different rows of some columns of indices, and which of them each row is."""
    sizes = [int(each.max()) + 1 for each in columns]
    found, member = np.unique(np.ravel_multi_index(columns, sizes), return_inverse=True)
    kinds = np.stack(np.unravel_index(found, sizes), axis=1)
    return kinds.tolist(), member


def _columns(table, names, member):
    """Figures of a table's rows as columns: those that all rows share, as one number."""
    found = {}
    for name in names:
        values = np.array([each[name] for each in table], float)
        found[name] = values[0] if np.all(values == values[0]) else values[member][:, None]
    return found


def _kernel_columns(table, member):
    """The kernels of a table's rows as columns."""
    names = [each.name for each in fields(Kernel)]
    parts = [each.name for each in fields(Kernels)]
    columns = {
        part: _columns([vars(getattr(k, part)) for k in table], names, member) for part in parts
    }
    return Kernels(**{part: Kernel(**column) for part, column in columns.items()})


def curves_of(tables: Tables, rows: Choices, most, grid=GRID) -> Curve:
    """The curves of rows of one engine, as `steady.curve_of` has them one by one."""
    engine = rows.engines[rows.engine[0]]
    own, tail = tables.works(rows)
    timing = by_kernels(engine, tables.kernels(rows)).changed(overrides.of_time(tables.given))
    serving = tables.engine(rows)
    running = np.minimum(grid, most[:, None])
    together = curves.seen(tables.workload, running, most[:, None])
    each = np.ceil(together / rows.groups[:, None])
    own, tail = (replace(load, groups=together / each) for load in (own, tail))
    written = tables.workload.written.mean
    mean = loaded_step(timing, own, each, written, serving.batched_tokens)
    guess = tables.guess(rows)
    if guess:
        guess = replace(guess, work=replace(guess.work, groups=together / each))
        mean = replace(mean, alone=guesses.step(timing, own, each, guess))
    least = guesses.least_s(own, each, guess)
    tpot = np.maximum(mean.total_s * tables.pull(rows, each), least)
    sway = curves.sway_s(tables.workload, mean.prompts_s * (tpot / mean.total_s), running)
    first, busy = first_tokens_s(timing, own, each, serving)
    late, _ = first_tokens_s(timing, tail, each, serving)
    times = (tpot, sway, first, late, busy / rows.groups[:, None])
    shape = running.shape
    return curves.curve(
        tables.workload,
        running,
        *(np.broadcast_to(table, shape) for table in times),
    )
