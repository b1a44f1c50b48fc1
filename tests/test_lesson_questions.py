"""Every question, a thousand draws of each: the answer, the printed solution, the usual mistake.

`BY_HAND` answers each question a second time, in whole numbers, fractions and loops, without a line
of the planner.
"""

import math
import random
import re
from fractions import Fraction

import pytest

from planner.lesson import answers, questions
from planner.lesson.questions import RIGHT, SLIP, WRONG

F = Fraction
PAGES = questions.pages_of()

SEEDS = range(1000)
G = 10**9


def layer_work(rows, width, seen):
    """Multiply-adds of four projections of some rows and of their meeting `seen` tokens."""
    return sum(4 * width * width + width * seen + width * seen for _ in range(rows))


def first_that(holds, start=1):
    """Smallest whole number for which something holds, by doubling and halving."""
    high = start
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def billions(value):
    return F(str(value)) * G


BY_HAND = {
    "uncached_step": lambda width, step: layer_work(step, width, step),
    "cached_step": lambda width, step: layer_work(1, width, step),
    "uncached_sum": lambda width: sum(layer_work(t, width, t) for t in (1, 2, 3)),
    "cached_sum": lambda width, steps: sum(layer_work(1, width, t + 1) for t in range(steps)),
    "saving_ratio": lambda width, steps: F(
        sum(layer_work(1, width, t) * t for t in range(1, steps + 1)),
        sum(layer_work(1, width, t) for t in range(1, steps + 1)),
    ),
    "keys_computed": lambda prompt, new: len([*range(prompt), *range(1, new)]),
    "causal_pairs": lambda prompt, steps: sum(
        1 for query in range(prompt + steps) for _ in range(query + 1)
    ),
    "cached_elements": lambda layers, query_heads, kv_heads, head_dim: sum(
        head_dim for _ in range(layers) for _ in ("key", "value") for _ in range(kv_heads)
    ),
    "token_bytes": lambda layers, kv_heads, head_dim: sum(
        head_dim * 2 for _ in range(layers) for _ in ("key", "value") for _ in range(kv_heads)
    ),
    "request_cache": lambda layers, kv_heads, head_dim, tokens: F(
        layers * kv_heads * head_dim * tokens * 4, G
    ),
    "load_cache": lambda per_token, tokens, requests: F(per_token * tokens * requests, G),
    "shared_heads": lambda query_heads, kv_heads, cache_gb: (
        F(str(cache_gb)) / (query_heads // kv_heads)
    ),
    "weight_memory": lambda parameters_billion, bits: (
        F(str(parameters_billion)) / (8 // bits) if bits < 16 else F(str(parameters_billion)) * 2
    ),
    "quantised_cache": lambda per_token, tokens, bits: F(per_token // (16 // bits) * tokens, G),
    "window_cache": lambda per_token, window, tokens: F(
        per_token * len(range(max(0, tokens - window), tokens)), G
    ),
    "first_token_time": lambda parameters_billion, prompt, peak, bandwidth: (
        1000
        * max(
            2 * billions(parameters_billion) * prompt / (peak * 10**12),
            2 * billions(parameters_billion) / (bandwidth * G),
        )
    ),
    "request_time": lambda first_ms, step_ms, tokens: F(
        sum([first_ms] + [step_ms] * (tokens - 1)), 1000
    ),
    "decode_intensity": lambda parameters_billion, batch: batch,
    "ridge_point": lambda peak, bandwidth: F(peak * 1000, bandwidth),
    "step_time": lambda parameters_billion, per_token, tokens, bandwidth: (
        (2 * billions(parameters_billion) + per_token * tokens) / (bandwidth * 10**6)
    ),
    "stream_speed": lambda weights_gb, cache_gb, bandwidth: (
        1 / ((F(str(weights_gb)) + F(str(cache_gb))) / bandwidth)
    ),
    "total_speed": lambda weights_gb, cache_gb, bandwidth, requests: (
        requests / ((F(weights_gb) + sum(F(str(cache_gb)) for _ in range(requests))) / bandwidth)
    ),
    "crossover": lambda weights_gb, requests, per_token: (
        first_that(lambda n: n * per_token * requests > weights_gb * G) - 1
    ),
    "bandwidth_needed": lambda weights_gb, cache_gb, speed: (
        speed * (F(str(weights_gb)) + F(str(cache_gb)))
    ),
    "requests_that_fit": lambda memory_gb, weights_gb, per_token, tokens: (
        first_that(lambda n: weights_gb * G + n * per_token * tokens > memory_gb * G) - 1
    ),
    "longest_context": lambda memory_gb, weights_gb, per_token, requests: (
        first_that(lambda n: weights_gb * G + requests * n * per_token > memory_gb * G) - 1
    ),
    "contiguous_waste": lambda reserved, used: 100 - 100 * F(used, reserved),
    "paged_waste": lambda block, tokens: -tokens % block,
    "shared_prefix": lambda requests, prefix, per_token: F(
        sum(per_token * prefix for _ in range(1, requests)), G
    ),
    "leak_time": lambda free_gb, leaked_gb, per_hour, share: (
        F(free_gb) / (F(str(leaked_gb)) * per_hour * F(share, 100))
    ),
    "robot_time": lambda memory_gb, weights_gb, per_token, rate: F(
        (memory_gb - weights_gb) * G // per_token, rate * 60
    ),
}

ROWS = {row["id"]: row for row in questions._number_rows()}
OLD_DOZEN = [
    "uncached_step", "what_is_kept", "keys_computed", "mask_in_a_step", "rotated_keys",
    "request_time", "first_token_time", "weight_memory", "what_gqa_changes", "leak_time",
    "robot_time", "bandwidth_needed",
]  # fmt: skip
SUPERSCRIPTS = {"¹²": "**12", "²": "**2", "³": "**3", "⁹": "**9"}


def evaluate(text):
    """The value of a printed left side, read as a student would type it into a calculator."""
    assert re.fullmatch(r"[\d., +×÷−()²³⁹¹⌊⌋;]*|(min|max)\([\d.,; ]*\)", text), text
    text = text.replace(",", "").replace("×", "*").replace("÷", "/").replace("−", "-")
    for sign, power in SUPERSCRIPTS.items():
        text = text.replace(sign, power)
    text = text.replace("⌊", "floor(").replace("⌋", ")").replace(";", ",")
    # Fractions keep decimal figures exact, so that a tie rounds as it is printed.
    text = re.sub(r"(?<![\w.])(\d+\.\d+|\d+)", r"F('\1')", text)
    names = {"F": F, "floor": math.floor, "min": min, "max": max}
    return eval(text, {"__builtins__": {}}, names)


def draws(row, seed):
    """The drawn numbers, taken as the published rule says."""
    rng = random.Random(f"{seed}:{row['id']}")
    return {name: values[int(rng.random() * len(values))] for name, values in row["draw"].items()}


def all_draws(name):
    by_seed = [next(q for q in DRAWN[seed] if q.id == name) for seed in SEEDS]
    return [(draws(ROWS[name], seed), by_seed[seed]) for seed in SEEDS]


DRAWN = [questions.numbers(seed) for seed in SEEDS]


def test_every_question_has_a_second_answer():
    assert set(BY_HAND) == set(ROWS)
    assert len(ROWS) >= 14


@pytest.mark.parametrize("name", BY_HAND)
def test_answer_a_thousand_times(name):
    for drawn, question in all_draws(name):
        expected = BY_HAND[name](**drawn)
        assert question.answer == pytest.approx(float(expected), rel=1e-12), drawn
        assert question.mark(float(expected)) == RIGHT


@pytest.mark.parametrize("name", BY_HAND)
def test_text_and_solution_a_thousand_times(name):
    for drawn, question in all_draws(name):
        assert not re.search(r"[{}]", question.text + "".join(question.worked))
        for value in drawn.values():
            assert re.search(rf"(?<![\d.,]){re.escape(f'{value:,}')}(?![\d])", question.text)
        for line in question.worked:
            left, right = line.split(" = ")
            printed = right.split(" ")[0]
            value = evaluate(left)
            shown = float(printed.replace(",", ""))
            if value == int(value):
                assert shown == value, line
            else:  # four digits: off by at most half of the last one
                last = 10.0 ** (math.floor(math.log10(abs(value))) - 3)
                assert abs(float(value) - shown) <= 0.5 * min(last, 1) * (1 + 1e-9), line
        assert right == question.printed


@pytest.mark.parametrize("name", BY_HAND)
def test_marking_a_thousand_times(name):
    for _, question in all_draws(name):
        assert question.mark(question.answer) == RIGHT
        assert question.mark(question.slip_answer) == SLIP, question.text
        printed = questions.read_number(question.printed.split(" ")[0])
        assert question.mark(printed) == RIGHT
        far = question.answer * (1 + 1.1 * question.tolerance) + (question.tolerance == 0)
        assert question.mark(far) != RIGHT
        assert question.mark(-question.answer) == WRONG


def test_one_token_too_many_is_not_right():
    """The first token comes with the prefill, so an answer of n tokens takes n − 1 steps."""
    for drawn, question in all_draws("request_time"):
        late = (drawn["first_ms"] + drawn["tokens"] * drawn["step_ms"]) / 1000
        assert question.mark(late) == WRONG


@pytest.mark.parametrize("name", BY_HAND)
def test_seeds_draw_anew(name):
    assert len({question.text for _, question in all_draws(name)}) >= 8


def test_lesson_figures_among_the_answers():
    assert answers.uncached_sum(4)["answer"] == 496
    assert answers.cached_sum(4, 3)["answer"] == 240
    assert round(answers.saving_ratio(128, 1000)["answer"]) == 611
    assert answers.token_bytes(32, 32, 128)["answer"] == 524_288
    assert answers.token_bytes(24, 8, 64)["answer"] == 49_152
    assert answers.request_cache(24, 8, 64, 2000)["answer"] == 0.098304
    assert round(answers.request_cache(32, 32, 128, 8192)["answer"], 2) == 4.29
    assert round(answers.load_cache(524_288, 8192, 16)["answer"], 1) == 68.7
    assert round(answers.step_time(7, 524_288, 32_000, 1000)["answer"], 1) == 30.8


def test_a_link_keeps_its_numbers():
    """Published seeds; a change here changes what an old link shows."""
    drawn = {question.id: question for question in questions.numbers(1)}
    assert drawn["step_time"].printed == "18.1 ms"
    assert drawn["token_bytes"].printed == "81,920 bytes"
    assert drawn["requests_that_fit"].printed == "16 requests"
    assert questions.numbers(5) == questions.numbers(5)


# --- choices ------------------------------------------------------------------------------------


def test_choices():
    found = questions.choices(3)
    assert len(found) >= 10
    for question in found:
        marks = [question.mark(place) for place in range(len(question.options))]
        assert marks.count(RIGHT) == 1
        assert marks.count(WRONG) == len(marks) - 1 >= 2
        assert all(option.note for option in question.options)


def test_right_options_move_about():
    places = [
        [question.mark(i) for i in range(len(question.options))].index(RIGHT)
        for seed in range(50)
        for question in questions.choices(seed)
    ]
    shares = [places.count(place) / len(places) for place in range(4)]
    assert all(0.2 < share < 0.3 for share in shares)


def test_right_options_are_not_told_by_their_length():
    longest = [
        max(question.options, key=lambda option: len(option.text)).right
        for question in questions.choices(0)
    ]
    assert sum(longest) / len(longest) < 0.4


# --- sets of questions --------------------------------------------------------------------------


def test_each_page_that_teaches_has_questions():
    assert list(PAGES) == ["why", "stored", "past", "proof", "phases", "cost", "managing", "speed"]
    for page in PAGES:
        assert len(questions.check(0, page)) >= 3
    everything = questions.check(0)
    assert len({question.id for question in everything}) == len(everything)
    assert len(everything) == len(questions.numbers(0)) + len(questions.choices(0))


def test_quiz():
    picked = questions.quiz(seed=4, count=14)
    assert len({question.id for question in picked}) == 14
    assert {question.page for question in picked} == set(PAGES)
    assert picked == questions.quiz(seed=4, count=14)
    assert [q.id for q in picked] != [q.id for q in questions.quiz(seed=5, count=14)]
    assert len(questions.quiz(seed=4, count=1000)) == len(questions.check(4))


def test_an_old_link_keeps_its_dozen():
    """Drawn before there were later questions; a change here changes what an old link shows."""
    first = [question.id for question in questions.quiz(seed=1, count=12, edition=1)]
    assert first == OLD_DOZEN
    for seed in range(50):
        assert {q.edition for q in questions.quiz(seed, 12, edition=1)} == {1}
    assert any(q.edition == 2 for seed in range(9) for q in questions.quiz(seed, 12))


def test_hints_help_and_do_not_solve():
    for question in (*questions.numbers(3), *questions.choices(3)):
        assert 20 <= len(question.hint) <= 220
        if hasattr(question, "printed"):
            assert question.printed not in question.hint
        else:
            assert not any(option.text in question.hint for option in question.options)


# --- what a student types -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("496", 496),
        (" 4.29 ", 4.29),
        ("524,288", 524_288),
        ("1 048 576", 1_048_576),
        ("1,234.5", 1234.5),
        ("4.29e9", 4.29e9),
        (".5", 0.5),
        ("−3", -3),
        ("12,345,678", 12_345_678),
    ],
)
def test_read_number(text, number):
    assert questions.read_number(text) == number


@pytest.mark.parametrize("text", ["", "abc", "4.29 GB", "4,29", "1,2345", "nan", "1e9999", "inf"])
def test_read_number_refuses(text):
    with pytest.raises(ValueError, match="Write"):
        questions.read_number(text)


# --- the schema ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"page": "nowhere"}, "no page"),
        ({"text": ""}, "text is empty"),
        ({"text": "No number shown"}, "every drawn number"),
        ({"id": "unheard_of"}, "no function"),
        ({"draw": {"width": [1]}}, "not what its answer takes"),
        ({"draw": {"width": [], "step": [1]}}, "width is not a list"),
        ({"extra": 1}, "extra"),
        ({"tolerance": "some"}, "tolerance"),
        ({"hint": ""}, "hint is empty"),
        ({"edition": 9}, "edition"),
    ],
)
def test_number_schema(change, says):
    with pytest.raises(ValueError, match=says):
        questions.validate_number({**ROWS["cached_step"], **change})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"wrong": []}, "wrong statement"),
        ({"wrong": [{"text": "A"}]}, "wrong statement"),
        ({"wrong": [{"text": "Same", "note": "n"}], "right": "Same"}, "the same"),
        ({"page": "nowhere"}, "no page"),
    ],
)
def test_choice_schema(change, says):
    with pytest.raises(ValueError, match=says):
        questions.validate_choice({**questions._choice_rows()[0], **change})
