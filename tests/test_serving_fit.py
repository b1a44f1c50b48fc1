"""The fit of serving engines made anew: constants, what was left out, what the bands hold."""

from functools import cache

import numpy as np
import pytest

from planner.engines.timing import constants
from planner.evidence import measurements, summary
from planner.files import rows as shipped_rows
from planner.latency import measured
from planner.maintain import bands, calibrate, serving_fit
from planner.maintain.rows import gather
from planner.maintain.solve import least_squares

AGAIN = "run python -m planner.maintain.calibrate"


@cache
def made():
    return calibrate.served()


@cache
def rows():
    return gather(measurements.steps(), by_kernels=True)


def error(seconds, here):
    off = np.abs(seconds / rows().measured_s - 1)[here]
    return np.median(off), np.quantile(off, 0.9)


def test_least_squares_finds_a_curve_and_holds_a_bound():
    x = np.linspace(0, 3, 50)
    y = 2 * np.exp(-1.3 * x)
    found = least_squares(lambda c: c[0] * np.exp(-c[1] * x) - y, [1.0, 0.5], [0.0, 0.0])
    assert found == pytest.approx([2, 1.3], rel=1e-4)
    held = least_squares(lambda c: c[0] * np.exp(-c[1] * x) - y, [1.0, 0.5], [0.0, 2.0])
    assert held[1] == 2


def test_a_band_holds_its_share_in_every_cell_at_once():
    rng = np.random.default_rng(3)
    way = np.repeat(["a", "b"], 500), np.tile(["x", "y"], 500)
    off = rng.normal(size=1000) * np.where(way[0] == "a", 1, 3) * np.where(way[1] == "x", 1, 2)
    everyone = np.ones(1000, bool)
    width = bands.half_widths(*bands.rake(off, everyone, way, 0.8), way)
    for cells in way:
        for cell in np.unique(cells):
            assert np.mean((np.abs(off) <= width)[cells == cell]) == pytest.approx(0.8, abs=0.02)


def test_the_shipped_constants_are_what_the_fit_gives():
    host = serving_fit.fit(rows().only(rows().fitted))
    for name in calibrate.UNITS:
        assert constants()[name] == pytest.approx(getattr(host, name), rel=5e-3), AGAIN


def test_witnesses_are_predicted_by_the_shipped_constants():
    every = measured.witnesses()
    place = {id: index for index, id in enumerate(rows()["id"])}
    host = serving_fit.fit(rows().only(rows().fitted))
    seconds = rows().step_s(host)[[place[id] for id in every.id]]
    assert every.predicted_s == pytest.approx(seconds, rel=5e-3), AGAIN


@pytest.mark.slow
def test_the_shipped_predictions_are_what_leaving_out_gives():
    shipped = measurements.out_of_fold()
    for line in calibrate.left_out_lines(made(), ()):
        for name, text in line.items():
            if name != "id" and text:
                value = shipped[name][line["id"]] * 1e3
                assert value == pytest.approx(float(text), rel=5e-3), AGAIN


@pytest.mark.slow
def test_the_shipped_bands_are_what_leaving_out_gives():
    shipped = {
        (row["case"], row["engine"], row["regime"]): float(row["factor"])
        for row in shipped_rows("bands.csv")
    }
    lines = calibrate.band_lines(made())
    assert len(lines) == len(shipped)
    for *key, value in lines:
        assert shipped[tuple(key)] == pytest.approx(value, rel=0.02), (key, AGAIN)


# Most median and 90th percentile of steps under load, by what is left out.
TARGETS = {"model": (0.12, 0.30), "setup": (0.09, 0.25), "sweep": (0.07, 0.20)}


@pytest.mark.slow
@pytest.mark.parametrize("case", TARGETS)
def test_errors_of_what_was_left_out(case):
    median, p90 = error(made().cases[case], rows().reference)
    assert median <= TARGETS[case][0]
    assert p90 <= TARGETS[case][1]
    for family in np.unique(rows().family[rows().reference]):
        here = rows().reference & (rows().family == family)
        assert error(made().cases[case], here)[0] < 0.15, family


@pytest.mark.slow
@pytest.mark.parametrize("case", TARGETS)
def test_a_band_holds_three_quarters_to_six_sevenths_in_every_engine_and_regime(case):
    off = np.log(rows().measured_s / made().cases[case])
    ways = measured.regimes(rows().work.experts > 0, rows().requests, rows().work.prompt_tokens)
    width = np.array(
        [
            measured.half_width(case, family, tuple(way[place] for way in ways))
            for place, family in enumerate(rows().family)
        ]
    )
    found = bands.coverage(off, width, rows())
    assert len(found) >= 30
    for engine, regime, count, share in found:
        assert 0.75 <= share <= 0.85, (engine, regime, count)


@pytest.mark.slow
def test_the_verdict_of_a_load_is_right_in_nine_of_ten():
    first = made().first
    right = first.right(first.predicted_s(first.fit(first.clean)))
    assert np.mean(right[first.judged]) > 0.9


@pytest.mark.slow
def test_shared_constants_predict_a_left_out_model_better_than_own_ones():
    """What the Accuracy page says of serving engines, computed anew."""
    own = np.full(len(rows()), np.nan)
    here = rows().reference
    for model in np.unique(rows()["model"][here]):
        for family in np.unique(rows().family[here & (rows()["model"] == model)]):
            asked = here & (rows()["model"] == model) & (rows().family == family)
            use = rows().fitted & (rows()["model"] != model) & (rows().family == family)
            own[asked] = rows().step_s(serving_fit.fit(rows().only(use)))[asked]
    median, _ = error(own, here)
    assert median == pytest.approx(summary.OWN_CONSTANTS, abs=0.005)
    assert error(made().model, here)[0] < 0.8 * median
