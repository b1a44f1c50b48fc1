"""A comparison worked out: the plans' own numbers, what differs first, charts that can be read."""

from dataclasses import replace

import pytest

from planner import Scenario, evaluate, plan
from planner.charts.style import DASHES, tones
from planner.compare import differences, overlays
from planner.compare.comparison import Comparison, Variant, decode
from planner.inputs import presets
from tests.test_charts import holds_together, in_si
from tests.test_comparison import LESSON

H100 = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm", output=200)
FOUR = Comparison(
    (
        Variant(Scenario("lesson-7b-mha"), "GQA off"),
        Variant(Scenario("lesson-7b-gqa", context=100_000)),
        Variant(H100, "vLLM"),
        Variant(Scenario("deepseek-v3", device="h200-sxm", tp=8), "", "mla-as-mha"),
    )
)
SAME = Comparison((Variant(Scenario(), "n" * 30),) * 4)
TINY = Comparison((Variant(Scenario(concurrency=1, context=128, memory=2)), Variant(H100)))
FAR = Comparison((Variant(Scenario("lesson-7b-mha", concurrency=4096, context=2**20)),))
COMPARISONS = {"lesson": LESSON, "four": FOUR, "same": SAME, "tiny": TINY, "far": FAR}


def test_the_lesson_s_two_models_side_by_side():
    a, b = differences.shown(LESSON)
    assert differences.headline([a, b]) == "GQA on fits; GQA off does not."
    assert differences.against(a, b) == (
        "GQA on against GQA off: cache ×0.250. Speeds are not compared: not both of them run."
    )
    apart = differences.inputs([a, b])
    assert apart.to_numpy().tolist() == [["Model", "Lesson 7B, MHA", "Lesson 7B, GQA"]]
    assert list(apart.columns) == ["input", "A: GQA off", "B: GQA on"]
    table = differences.results([a, b]).set_index("figure")
    assert list(table.columns) == ["A: GQA off", "B: GQA on", "B against A"]
    assert list(table.loc["Verdict"]) == [
        "Does not fit: 2.72 GB too much.",
        "Fits, with 48.8 GB to spare.",
        "",
    ]
    assert list(table.loc["Cache"]) == ["68.7 GB", "17.2 GB", "×0.250 better"]
    assert list(table.loc["Weights"]) == ["14.0 GB", "14.0 GB", "the same"]
    assert list(table.loc["Max concurrent requests"]) == ["15", "61", "×4.07 better"]
    assert table.loc["Time per output token (TPOT)", "B against A"] == "–"


def test_of_two_that_run_the_headline_says_which_is_faster():
    both = [Variant(Scenario("llama-3.1-8b", device=each)) for each in ("h100-sxm", "l40s")]
    a, b = differences.shown(Comparison(tuple(both)))
    assert differences.headline([a, b]) == (
        "H100 SXM5 80GB and L40S fit; H100 SXM5 80GB is 3.88 times as fast for each user."
    )
    table = differences.results([a, b]).set_index("figure")["B against A"]
    assert table["Time per output token (TPOT)"] == "×3.88 worse"
    assert table["Throughput (tokens/s)"] == "×0.258 worse"


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (["gqa"], "A fits."),
        (["mha"], "A does not fit."),
        (["gqa", "gqa"], "A and B fit."),
        (["mha", "mha", "mha"], "A, B and C do not fit."),
        (["gqa", "mha", "gqa", "mha"], "A and C fit; B and D do not."),
    ],
)
def test_the_headline_says_which_fit(models, said):
    variants = tuple(Variant(Scenario(f"lesson-7b-{each}")) for each in models)
    assert differences.headline(differences.shown(Comparison(variants))) == said


def test_only_inputs_that_differ_are_listed():
    first = Scenario()
    other = replace(first, context=500, prompt=100, cache_k="q8_0", set="fraction:0.5")
    all_ = differences.shown(Comparison((Variant(first), Variant(other))))
    assert differences.inputs(all_).to_numpy().tolist() == [
        ["Keys", "16-bit (FP16, BF16)", presets.cache_format("q8_0").name],
        ["Engine's figures", "its own", "fraction:0.5"],
        ["Context", "8,192 tokens", "500 tokens"],
        ["Prompt", "not given", "100 tokens"],
    ]
    assert "Context" not in differences.alike(all_)
    assert "Concurrency: 16 requests" in differences.alike(all_)
    assert differences.inputs(differences.shown(SAME)).empty


def test_a_wrong_one_is_called_wrong_wherever_it_is_shown():
    scenario = FOUR.variants[3].scenario
    right, wrong = differences.shown(Comparison((Variant(scenario), FOUR.variants[3])))
    label = "B: MLA as MHA (wrong)"
    assert "Wrong on purpose" in differences.against(right, wrong)
    assert "cache ×24.9" in differences.against(right, wrong)
    assert differences.inputs([right, wrong]).to_numpy().tolist() == [
        ["Calculation", "right", "wrong: MLA as MHA"]
    ]
    for table in (differences.results, differences.numbers):
        assert label in table([right, wrong])
    for picture in overlays.pictures([right, wrong]):
        assert label in set(picture.frames["rows"].variant)
        assert label in picture.alt


@pytest.mark.parametrize("name", COMPARISONS)
def test_the_numbers_are_the_plans_own(name):
    all_ = differences.shown(COMPARISONS[name])
    table = differences.numbers(all_).set_index("figure")
    for each in all_:
        if each.mistake:
            continue
        served = evaluate(each.scenario)
        assert each.evaluation == served
        assert table.loc["Cache", each.label] == served.plan.cache_bytes
        step = (served.mixed_s or served.step_s).value
        assert table.loc["Time per output token (TPOT)", each.label] == step
    for other in all_[1:]:
        ratio = table.loc["Weights", f"{other.letter} / A"]
        first = table.loc["Weights", all_[0].label]
        assert ratio * first == pytest.approx(table.loc["Weights", other.label])


@pytest.mark.parametrize("name", COMPARISONS)
def test_bars_and_lines_are_the_plans_own(name):
    all_ = differences.shown(COMPARISONS[name])
    memory, lines = overlays.pictures(all_)
    parts = in_si(memory)
    size = {"ms": 1e-3, "s": 1, "h": 3600}[lines.bounds[1]]
    for place, each in enumerate(all_):
        bar = parts[parts.bar == overlays.short(each)]
        held = 0 if each.evaluation.ideal else each.evaluation.reserve.overhead_bytes
        own = each.evaluation.plan
        needed = own.device_weights_bytes + own.device_cache_bytes + held
        assert bar[bar.part != "free"]["size"].sum() == pytest.approx(needed)
        assert ("does not fit" in set(bar.part)) != each.fits
        point = lines.frames["points"].iloc[place]
        assert point.step * size == pytest.approx(each.evaluation.tpot_s.value)
        drawn = lines.frames["rows"]
        here = drawn[(drawn.ink == place) & (drawn.context == each.scenario.context)]
        assert here.step.item() == pytest.approx(point.step)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("which", COMPARISONS)
def test_every_data_set_and_field_of_a_chart_is_there(which, dark):
    pictures = overlays.pictures(differences.shown(COMPARISONS[which]))
    assert [picture.id for picture in pictures] == ["overlaid_memory", "overlaid_latency"]
    for picture in pictures:
        holds_together(picture, dark)


def test_lines_are_told_apart_by_ink_and_dash_and_their_letter_stands_at_them():
    assert len({str(dash) for dash in DASHES}) == 4 == len(tones(dark=True))
    _, lines = overlays.pictures(differences.shown(FOUR))
    rows, words = lines.frames["rows"], lines.frames["words"]
    assert dict(zip(rows.variant, rows.ink, strict=True)) == {
        each.label: ink for ink, each in enumerate(differences.shown(FOUR))
    }
    names = ["GQA off", "Lesson 7B, GQA", "vLLM", "MLA as MHA (wrong)"]
    assert [label for label in words.label if label in names] == names


def test_the_cross_is_where_memory_is_full():
    for each in differences.shown(FOUR):
        full = overlays.labelled(each).longest
        if each.evaluation.ideal and not each.mistake:
            assert plan(each.scenario, context=full).fits
            assert not plan(each.scenario, context=full + 1).fits
        if not each.evaluation.ideal:
            assert evaluate(each.scenario, context=full).fits
            assert not evaluate(each.scenario, context=full + 1).fits
    _, lines = overlays.pictures(differences.shown(LESSON))
    assert len(lines.frames["full"]) == 2
    assert lines.title == "Time per output token, × where memory is full"


@pytest.mark.parametrize("example", presets.comparisons(), ids=lambda each: each.id)
def test_an_example_is_a_whole_comparison(example):
    found, notices = decode(example.query)
    assert notices == ()
    assert len(found.variants) >= 2
    assert found.say
    assert example.sentence.endswith(".")


def test_little_room_cuts_a_name_but_not_that_it_is_wrong():
    long = "a name of thirty signs, or so"
    right, wrong = (Variant(H100, long, mistake) for mistake in ("", "doubled"))
    all_ = differences.shown(Comparison((Variant(H100), right, wrong)))
    assert [overlays.short(each) for each in all_] == [
        "A",
        "B: a name of thirty s…",
        "C: a name of … (wrong)",
    ]
