"""Many deployments at once: their curves, from the functions that `evaluate` puts together for one.

A row's figures come from small tables (one for each layout and format, one for each device and
format), so that a hundred thousand rows cost a few hundred calls. A test holds every row against
`steady.curve_of`.
"""

from dataclasses import fields, replace
from functools import cached_property
from itertools import product

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
from planner.pools import held_requests
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
        self.firsts, self.alike = np.unique(_alike(self.devices), return_inverse=True)
        self.engines, self.found, self.guessed = {}, {}, {}
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
        firsts = np.unique(member, return_index=True)[1]
        held, made = np.zeros((len(kinds), len(self.devices))), {}
        for place, (form, layout, engine) in enumerate(kinds):
            if (form, layout) not in made:
                made[form, layout] = self._inputs(rows, firsts[place])
            held[place] = self._held(made[form, layout], rows.engines[engine])
        return held[member, rows.device]

    def _inputs(self, rows, row):
        """A row's inputs with the memory of every device, for three contexts: that at which an
        engine admits whole requests, that of a running one, and the longest."""
        scenario = replace(rows.scenario(row), engine="ideal")
        plain = inputs_of(scenario, self.model, scenario.the_device, {})
        workload = self.workload
        held = workload.held_tokens
        whole = max(held, workload.prompt.mean + workload.written.mean)
        contexts = np.array([whole, held, workload.longest_tokens])[:, None]
        return replace(plain, memory_usable_bytes=self.memory, context_tokens=contexts)

    def _held(self, inputs, engine):
        """What an engine admits on each device."""
        own = self._engine(engine, inputs.scenario)
        whole, held, longest = held_requests(inputs, own)
        admitted = whole if serving_engines()[engine]["whole_requests"] == "yes" else held
        fewest = np.minimum(np.minimum(admitted, held), most_scheduled(own, inputs.scenario.dp))
        return np.where(longest >= 1, np.minimum(fewest, MOST_RUNNING), 0.0)

    def _engine(self, engine, scenario):
        """An engine as it sets itself up on every device: `OF_DEVICE` are arrays."""
        key = (engine, scenario.tp, scenario.pp)
        if key not in self.engines:
            named = [row.devices for row in step_defaults().get(engine, ())]
            alike = {}
            for place, device in enumerate(self.every.devices):
                alike.setdefault(tuple(device in each for each in named), []).append(place)
            figures = {name: np.zeros(len(self.devices)) for name in OF_DEVICE}
            for places in alike.values():
                first = replace(scenario, engine=engine, device=self.every.devices[places[0]])
                own = first.engine_with(self.memory[places])
                for name, table in figures.items():
                    table[places] = getattr(own, name)
            plain = overrides.apply_engine(presets.engine(engine), self.given)
            self.engines[key] = replace(plain, **figures)
        return self.engines[key]

    def works(self, rows: Choices) -> tuple[Work, Work]:
        """What each row asks of a device, for the mean prompt and for the tail's; columns."""
        form = self.format_of(rows)
        base = _picked(self._works, form, rows.layout)
        base |= _picked(self._rates, form, rows.device)
        return Work(**base), Work(**base | _picked(self._tails, rows.layout))

    @cached_property
    def _works(self):
        """Every field of a work, by format and layout."""
        prompt = (self.workload.prompt.mean, round(self.workload.spared))
        forms, layouts = range(len(self.formats)), range(len(self.every.layouts))
        table = [[self._work(form, layout, *prompt) for layout in layouts] for form in forms]
        return _tabulated(table, [each.name for each in fields(Work)])

    @cached_property
    def _tails(self):
        """What of it the tail's prompt has of its own, by layout."""
        tail, cached = tail_prompt(self.workload)
        layouts = range(len(self.every.layouts))
        return _tabulated(
            [self._work(0, each, tail, round(cached)) for each in layouts], LENGTHS_OF
        )

    @cached_property
    def _rates(self):
        """What of it is the device's own, by format and device."""
        table = [[of_device(rates, form) for rates in self.rates] for form in self.formats]
        return _tabulated(table, list(table[0][0]), dict)

    def _work(self, form, layout, prompt, prefix):
        """The work of one format and layout, on the first device."""
        load = Load(
            self.workload.held_tokens, prompt, prompt - min(prefix, prompt - 1), self.shared_by
        )
        asked = (self.formats[form], self.every.layouts[layout], self.rates[0], load)
        return work(self.model, *asked, self.host)

    def kernels(self, rows: Choices) -> Kernels:
        """The kernels of each row, their figures as columns."""
        kinds, tables = self._kernels
        own = kinds[self.format_of(rows), rows.layout, self.alike[rows.device]]
        return Kernels(**{part: Kernel(**_picked(table, own)) for part, table in tables.items()})

    @cached_property
    def _kernels(self):
        """Which kernels a format, layout and kind of device have, and the figures of each."""
        shape = (len(self.formats), len(self.every.layouts), len(self.firsts))
        asked = product(range(shape[0]), self.every.layouts, self.firsts)
        made = [self._of(*each) for each in asked]
        known = {id(each): each for each in made}
        places = {key: place for place, key in enumerate(known)}
        member = np.array([places[id(each)] for each in made]).reshape(shape)
        names = [each.name for each in fields(Kernel)]
        return member, {
            part.name: _tabulated([getattr(each, part.name) for each in known.values()], names)
            for part in fields(Kernels)
        }

    def _of(self, form, layout, device):
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
        own = self._engine(rows.engines[rows.engine[0]], rows.scenario(0))
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


def _tabulated(things, names, figures=vars):
    """Figures of things in nested lists as arrays alike; one number where all share it."""
    things, found = np.array(things, object), {}
    read = [figures(each) for each in things.flat]
    for name in names:
        values = np.array([each[name] for each in read], float)
        same = np.all(values == values[0])
        found[name] = values[0] if same else values.reshape(things.shape)
    return found


def _picked(tables, *rows):
    """The figures of rows out of such arrays, as columns."""
    return {
        name: table[rows][:, None] if np.ndim(table) else table for name, table in tables.items()
    }


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
