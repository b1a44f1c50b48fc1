"""What the Accuracy page shows: its figures, kept apart by what the fit has seen, and its link."""

import pytest

from planner.evidence import accuracy, measurements, summary, times
from planner.evidence.accuracy import ALL, IN_SAMPLE, LEFT_OUT, NEVER, QUANTITIES, View
from planner.evidence.scatter import MOST_BARS, bars, errors_in_words, scatter

FRAME = accuracy.measurements()
EVERY = [
    View(quantity, rows=rows, by=by)
    for quantity in QUANTITIES
    for rows in accuracy.choices(quantity)["rows"]
    for by in accuracy.choices(quantity)["by"]
]


def test_every_measurement_is_there_once():
    assert set(FRAME["phase"]) == set(QUANTITIES)
    assert FRAME["id"].is_unique
    assert set(times.measured()["id"]) <= set(FRAME["id"])
    assert FRAME["engine_name"].notna().all()
    assert (FRAME[["measured", "predicted"]] > 0).all().all()


def test_what_was_fitted_on_is_kept_apart():
    table = accuracy.errors(FRAME, ["phase", "basis"])
    seen = {(row.phase, row.basis) for row in table.itertuples()}
    assert seen == {
        ("decode", LEFT_OUT),
        ("decode", NEVER),
        ("serving", LEFT_OUT),
        ("serving", NEVER),
        ("first", LEFT_OUT),
        ("first", NEVER),
        ("prefill", LEFT_OUT),
        ("prefill", NEVER),
        ("batched", NEVER),
        ("ttft", NEVER),
        ("pool", LEFT_OUT),  # without the source, and as the engine's constants have it
        ("pool", IN_SAMPLE),
        ("pool", NEVER),
        ("activation", IN_SAMPLE),
        ("activation", NEVER),
        ("capacity", NEVER),
        ("token", NEVER),
    }
    # What was fitted on is shown as predicted without its source, never as the fit has it.
    # Without its model where requests were kept at a number, else without its source.
    kept = (FRAME["basis"] == LEFT_OUT) & (FRAME["phase"] != "pool")
    without = measurements.out_of_fold()
    for row in FRAME[kept].itertuples():
        names = ("first_ms",) if row.phase == "first" else ("model_ms", "source_ms")
        found = [
            without[n][row.id.removesuffix("-first")]
            for n in names
            if row.id.removesuffix("-first") in without[n]
        ]
        assert [row.predicted] == pytest.approx(found), row.id


def test_the_headlines_are_the_errors_of_the_accuracy_frame():
    fitted = times.measured().query("fitted")
    for name, query in {
        "Decode, optimised": "phase == 'decode' and optimised",
        "Decode, all": "phase == 'decode'",
        "Under load": "phase == 'serving'",
        "TTFT under load": "phase == 'first'",
    }.items():
        rows = fitted.query(query)
        off, ideal_off = (
            (rows[each] / rows["measured_s"] - 1).abs() for each in ("out_of_fold_s", "ideal_s")
        )
        value, ideal, sentence = summary.headlines()[name]
        assert value == accuracy.percent(off.median())
        assert ideal == f"ideal {accuracy.percent(ideal_off.median())}"
        assert accuracy.percent(off.quantile(0.9)) in sentence
        assert f"{len(rows)} from {rows['source_name'].nunique()} sources" in sentence
    assert summary.headlines()["Cache of a token"][0] == "exact"
    assert summary.headlines()["Decode, optimised"][0] in summary.answer()[0]


def test_memory_is_as_close_as_is_said():
    table = accuracy.errors(FRAME, ["phase"]).set_index("phase")
    assert table.loc["capacity", "p90"] < 0.01
    assert table.loc["token", "p90"] < 0.01
    assert table.loc["pool", "median"] < 0.05
    assert table.loc["pool", "ideal_median"] > 0.4
    first = accuracy.errors(FRAME[FRAME["basis"] == IN_SAMPLE], ["phase"]).set_index("phase")
    assert first.loc["pool", "ideal_median"] > 0.5


def test_the_page_names_the_worst_groups_first():
    for quantity in ("serving", "decode"):
        rows = accuracy.selected(View(quantity))
        table = accuracy.generations(rows)
        assert table["median error (%)"].is_monotonic_decreasing
        assert len(table) >= 2
    worst = accuracy.weakest(accuracy.selected(View("serving")))
    assert worst["median"].is_monotonic_decreasing
    assert (worst["count"] >= accuracy.NAMED).all()
    named = f"{worst.iloc[0]['model']} with {worst.iloc[0]['engine_name']}"
    assert named in summary.about()
    drawn = bars(View("serving", by="model"), accuracy.selected(View("serving")))
    fitted = drawn.frames["table"]
    assert fitted["median error (%)"].is_monotonic_decreasing


def test_what_was_left_out_is_told_apart():
    rows = FRAME.query("phase == 'serving' and basis == @LEFT_OUT and setup_error == setup_error")
    medians = [rows[name].abs().median() for name in ("error", "setup_error", "sweep_error")]
    assert medians == sorted(medians, reverse=True)
    for each in medians:
        assert accuracy.percent(each) in summary.about()


@pytest.mark.parametrize(
    ("share", "sign", "text"),
    [
        (0.084, False, "8.4 %"),
        (0.1234, True, "+12 %"),
        (-0.5, True, "−50 %"),
        (0.00078, False, "0.078 %"),
        (3.6, False, "360 %"),
        (0.0, True, "0 %"),
        (float("nan"), False, "–"),
    ],
)
def test_shares_in_words(share, sign, text):
    assert accuracy.percent(share, sign).replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize("view", EVERY, ids=accuracy.encode)
def test_every_view_can_be_drawn_and_reopened(view):
    assert accuracy.decode(accuracy.encode(view)) == (view, ())
    rows = accuracy.selected(view)
    drawing = scatter(view, rows, "predicted")
    low, high, unit, _ = drawing.bounds
    points = drawing.frames["rows"]
    assert len(points) == len(rows) <= 2000
    assert points[["measured", "predicted"]].to_numpy().min() >= low
    assert points[["measured", "predicted"]].to_numpy().max() <= high
    assert next(iter(drawing.table())) == f"measured ({unit})"
    groups = bars(view, rows)
    assert 1 <= len(groups.frames["rows"]) <= MOST_BARS
    assert groups.frames["table"]["measurements"].sum() <= len(rows)
    assert errors_in_words(rows, "predicted").count("median error") == rows["basis"].nunique()
    assert len(accuracy.table(rows)) == len(rows)


def test_the_band_lies_about_the_diagonal():
    view = View("decode", engine="tensorrt-llm")
    band = scatter(view, accuracy.selected(view), "predicted").frames["band"]
    assert (band["least"] <= band["at"]).all()
    assert (band["most"] >= band["at"]).all()
    assert scatter(view, accuracy.selected(view), "ideal").frames["band"].empty


BAD = [
    ("quantity=nope", "quantity"),
    ("engine=%3Cb%3E", "engine"),
    ("device=h100-sxm&quantity=pool", "device"),
    ("rows=in-sample", "rows"),
    ("by=batch&quantity=pool", "by"),
    ("by=", "by"),
    ("v=7", "v"),
    ("foo=1", ""),
    ("engine=vllm-0.20&engine=mlc", "engine"),
]


@pytest.mark.parametrize(("query", "parameter"), BAD, ids=[query for query, _ in BAD])
def test_a_bad_link_is_named_and_opens(query, parameter):
    view, notices = accuracy.decode(query)
    assert [each.parameter for each in notices] == [parameter]
    assert accuracy.decode(accuracy.encode(view)) == (view, ())


def test_a_filter_narrows():
    view = View("decode", engine="llama.cpp-cuda", device="rtx-4090")
    rows = accuracy.selected(view)
    assert 0 < len(rows) < len(accuracy.selected(View("decode")))
    assert set(rows["engine"]) == {"llama.cpp-cuda"}
    assert View().engine == ALL
