"""Charts as pictures: what they show, where they are from, and the link that reopens them."""

import io
import re
import threading
import time
import zipfile

import pytest

from planner import Scenario, __version__, encode
from planner.compare.comparison import Comparison, Variant
from planner.compare.differences import shown
from planner.reports import comparison_html, images, plan_html, renderer
from tests.test_differences import FOUR
from tests.test_report import NAMES, named

APP = "http://localhost:8501/"


def text_of(svg):
    return " ".join(re.findall(r">([^<>]+)</(?:text|tspan)>", svg))


@pytest.mark.parametrize("engine", ["ideal", "vllm"])
def test_every_chart_has_title_inputs_link_and_version(engine):
    scenario = Scenario(engine=engine)
    _, drawings, origin = plan_html.pictured(scenario, APP)
    for title, (chart, drawing) in drawings.items():
        svg = images.svg(images.framed(title, chart, drawing, origin))
        drawn = text_of(svg)
        assert title in drawn
        assert "Lesson 7B, GQA · 16 requests × 8,192 tokens" in drawn
        assert f"{APP}?{encode(scenario)}"[:80].replace("&", "&amp;") in drawn
        assert __version__ in drawn
        # The legend stays with its bars, above the small print.
        assert svg.find(">weights<") < svg.find(f">{APP}")


def test_a_link_too_long_to_be_read_is_in_the_file_all_the_same():
    _, drawings, _ = plan_html.pictured(Scenario(), APP)
    origin = images.Origin("inputs", APP + "?" + "x" * 2000)
    title, drawn = next(iter(drawings.items()))
    spec = images.framed(title, *drawn, origin)
    svg = images.svg(spec, origin.signed)
    assert "xxx" not in text_of(svg)
    assert __version__ in text_of(svg)
    assert f"<desc>{origin.signed}</desc>" in svg
    png = images.png(spec, origin.signed)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert b"tEXtComment\0" + origin.link.encode() in png


@pytest.mark.parametrize("subject", [Scenario(), Scenario(engine="sglang"), FOUR])
def test_a_card_shows_the_verdict_and_two_charts(subject):
    page = plan_html if isinstance(subject, Scenario) else comparison_html
    title, drawings, origin = page.pictured(subject, APP)
    svg = images.svg(images.card(title, drawings, origin))
    drawn = text_of(svg)
    assert title in drawn
    assert all(name in drawn for name in list(drawings)[:2])
    assert "Memory (GB)" in drawn
    assert "Time per token (ms)" in drawn


def test_all_charts_in_one_file():
    scenario = Scenario(model=named(NAMES[-1]), engine="vllm")
    _, drawings, origin = plan_html.pictured(scenario, APP)
    with zipfile.ZipFile(io.BytesIO(images.archive(drawings, origin))) as archive:
        names = archive.namelist()
        said = archive.read("link.txt").decode()
        assert f"{APP}?{encode(scenario)}" in said
        assert __version__ in said
        svg = archive.read("engine_step.svg").decode()
        assert svg.startswith("<svg")
        assert "<script" not in svg
        assert archive.read("engine_step.png").startswith(b"\x89PNG")
    assert len(names) == 1 + 2 * len(drawings) == 11


def test_a_long_name_is_cut_between_signs_and_never_that_it_is_wrong():
    for name in ("W" * 30, "🔥" * 30):
        evil = Variant(Scenario(), name, "no-gqa")
        for drawing in comparison_html.drawings(shown(Comparison((evil,)))).values():
            drawn = text_of(images.svg(images.specification(*drawing)))
            assert "A" in drawn
            assert "(wrong)" in drawn


def test_words_lie_on_their_halo():
    for drawing in comparison_html.drawings(shown(FOUR)).values():
        svg = images.svg(images.specification(*drawing))
        sizes = re.findall(r'<text [^>]*font-size="(\d+)px"[^>]*>D \(wrong\)<', svg)
        assert len(set(sizes)) <= 1


def test_names_of_many_devices_do_not_lie_on_each_other():
    own = Scenario("deepseek-v3", device="h100-sxm", tp=8, dp=8, ep=64)
    chart = plan_html.pictured(own, APP)[1]["Memory on each device"]
    svg = images.svg(images.specification(*chart))
    seen = [each for each in re.findall(r"<text[^>]*>device", svg) if 'opacity="0"' not in each]
    assert 8 <= len(seen) <= 24


def test_other_work_goes_on_while_a_picture_is_drawn():
    title, drawings, origin = plan_html.pictured(Scenario(), APP)
    spec, beats = images.card(title, drawings, origin), []
    images.png(spec)
    done = threading.Event()

    def beat():
        while not done.wait(0.01):
            beats.append(time.monotonic())

    beside = threading.Thread(target=beat)
    beside.start()
    start = time.monotonic()
    images.png(spec)
    took = time.monotonic() - start
    done.set()
    beside.join()
    longest = max(b - a for a, b in zip([start, *beats], beats, strict=False))
    assert longest < took / 2


def test_what_cannot_be_drawn_or_ends_spoils_no_other_picture():
    _, drawings, _ = plan_html.pictured(Scenario(), APP)
    spec = images.specification(*next(iter(drawings.values())))
    with pytest.raises(ValueError, match="conversion failed"):
        images.svg({"mark": 3})
    assert images.svg(spec).startswith("<svg")
    renderer._processes[-1].kill()
    renderer._processes[-1].wait()
    assert images.svg(spec).startswith("<svg")
