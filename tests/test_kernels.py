"""What kernels reach: the fit of one table, and the shipped lines against all fits."""

import csv

import numpy as np
import pandas as pd
import pytest

from planner.files import rows
from planner.formulas import joined_seconds
from planner.maintain import kernels
from planner.maintain.kernel_tables import Table


def fitted():
    with open(kernels.HERE / "kernels.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_fit_finds_what_a_kernel_reaches():
    rng = np.random.default_rng(5)
    reading, arithmetic = np.exp(rng.uniform(-2, 7, (2, 400)))
    truth = 7.0, 0.8, 0.6, 1.7
    took = truth[0] + joined_seconds(reading / truth[1], arithmetic / truth[2], truth[3])
    took[:5] *= 10  # a few that were disturbed
    table = Table("x", "x", "matrix", "16", "", "", reading, arithmetic, took)
    found, errors = kernels.fit(table)
    assert found == pytest.approx(truth, rel=0.03)
    assert np.median(errors) < 0.01


def test_the_shipped_lines_are_drawn_from_all_fits():
    made = kernels.best(fitted()).astype({"devices": str, "fits": str})
    shipped = pd.DataFrame(rows("kernel_shares.csv"))
    assert list(made) == list(shipped)
    for name in made:
        if name in (*kernels.FIGURES, "median_error"):
            assert shipped[name].astype(float).to_numpy() == pytest.approx(
                made[name].to_numpy(), rel=6e-3
            ), name
        else:
            assert shipped[name].tolist() == made[name].tolist(), name


def test_every_fit_has_its_source():
    lines = fitted()
    assert len(lines) > 500
    assert all(line["source"].startswith("aiconfigurator 0.12.0: systems/data/") for line in lines)
    assert all("silicon" not in line["source"] for line in lines)
