"""Published serving runs with every request's times, and the same requests simulated.

Their times are the engine's own clock, so what a user waits beside it is left out here too.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from planner import describe
from planner.files import rows as read_rows
from planner.inputs.scenario import Scenario
from planner.sizing.arrivals import Requests
from planner.sizing.simulate import Simulation, simulate

MEASURES = ("ttft_s", "tpot_s", "e2e_s")


@dataclass(frozen=True)
class Run:
    """One run of presets/measurements/served_runs.csv and its requests.

    seats: most requests at once (--max-num-seqs). blocks: of the pool as the engine printed them,
    None where it is not known. first_token_s, last_token_s: as measured.
    """

    id: str
    scenario: Scenario
    version: str
    seats: int
    blocks: int | None
    source: str
    requests: Requests
    first_token_s: np.ndarray
    last_token_s: np.ndarray

    def measured(self) -> dict[str, float]:
        """Means of `MEASURES`, seconds."""
        return _means(self.requests, self.first_token_s, self.last_token_s)

    def simulated(self, blind: bool = False) -> Simulation:
        """The same requests served here; blind: with our own pool in place of the printed one."""
        blocks = None if blind else self.blocks
        return simulate(self.scenario, self.requests, blocks=blocks, seats=self.seats)

    def predicted(self, blind: bool = False) -> dict[str, float]:
        """Means of `MEASURES` of the simulation, on the engine's clock."""
        found = self.simulated(blind)
        return _means(found.requests, found.first_token_s, found.last_token_s)


def _means(requests, first, last):
    more = requests.output_tokens - 1
    tpot = (last - first)[more > 0] / more[more > 0]
    found = (first - requests.arrival_s, tpot, last - requests.arrival_s)
    return {name: float(each.mean()) for name, each in zip(MEASURES, found, strict=True)}


NAMES = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_s": "end-to-end"}


@cache
def table() -> dict[str, list]:
    """Mean times of every run as measured and as simulated, by column."""
    rows = []
    for run in runs():
        measured = run.measured()
        for blind in (False, True) if run.blocks else (True,):
            predicted = run.predicted(blind)
            for name in MEASURES:
                rows.append(
                    {
                        "run": f"{run.scenario.the_model.name}, {run.scenario.the_device.name}, "
                        f"{run.version}",
                        "pool": "as predicted" if blind else "as printed",
                        "figure": f"{NAMES[name]}, mean",
                        "measured": describe.duration(measured[name]),
                        "simulated": describe.duration(predicted[name]),
                        "error": f"{100 * (predicted[name] / measured[name] - 1):+.0f} %",
                        "source": run.source.partition(" ")[0],
                    }
                )
    return {column: [row[column] for row in rows] for column in rows[0]}


@cache
def runs() -> tuple[Run, ...]:
    """Every published run."""
    times = {}
    for row in read_rows("measurements/served_requests.csv"):
        times.setdefault(row.pop("run"), []).append([float(each) for each in row.values()])
    return tuple(
        _run(row, np.array(times[row["run"]])) for row in read_rows("measurements/served_runs.csv")
    )


def _run(row, times):
    arrival, prompt, output, first, last = times.T
    scenario = Scenario(
        row["model"],
        device=row["device"],
        engine=row["engine"],
        context=int(row["context"]),
        set=f"batched_tokens:{row['batched_tokens']}",
    )
    return Run(
        id=row["run"],
        scenario=scenario,
        version=row["version"],
        seats=int(row["seats"]),
        blocks=int(row["blocks"]) if row["blocks"] else None,
        source=row["source"],
        requests=Requests(arrival, prompt, output),
        first_token_s=first,
        last_token_s=last,
    )
