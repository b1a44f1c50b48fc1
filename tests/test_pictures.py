"""Charts as pictures: what they show, where they are from, and the link that reopens them."""

import io
import re
import threading
import time
import zipfile

import pytest

from planner import Scenario, __version__, encode, evaluate
from planner.charts import bars
from planner.compare import overlays
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
    _, pictures, origin = plan_html.pictured(scenario, APP)
    for picture in pictures:
        svg = images.svg(images.framed(picture, origin))
        drawn = text_of(svg)
        assert picture.title in drawn
        assert "Lesson 7B, GQA · 16 requests × 8,192 tokens" in drawn
        assert f"{APP}?{encode(scenario)}"[:80].replace("&", "&amp;") in drawn
        assert __version__ in drawn
        # The legend stays with its bars, above the small print.
        assert svg.find(">weights<") < svg.find(f">{APP}")


def test_a_link_too_long_to_be_read_is_in_the_file_all_the_same():
    _, pictures, _ = plan_html.pictured(Scenario(), APP)
    origin = images.Origin("inputs", APP + "?" + "x" * 2000)
    spec = images.framed(pictures[0], origin)
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
    title, pictures, origin = page.pictured(subject, APP)
    svg = images.svg(images.card(title, pictures, origin))
    drawn = text_of(svg)
    assert title in drawn
    assert all(picture.title in drawn for picture in pictures[:2])
    assert "Memory (GB)" in drawn
    assert "Time per output token (ms)" in drawn


def test_all_charts_in_one_file():
    scenario = Scenario(model=named(NAMES[-1]), engine="vllm")
    _, pictures, origin = plan_html.pictured(scenario, APP)
    with zipfile.ZipFile(io.BytesIO(images.archive(pictures, origin))) as archive:
        names = archive.namelist()
        said = archive.read("link.txt").decode()
        assert f"{APP}?{encode(scenario)}" in said
        assert __version__ in said
        svg = archive.read("engine_step.svg").decode()
        assert svg.startswith("<svg")
        assert "<script" not in svg
        assert archive.read("engine_step.png").startswith(b"\x89PNG")
    assert len(names) == 1 + 2 * len(pictures) == 11


def test_a_long_name_is_cut_between_signs_and_never_that_it_is_wrong():
    for name in ("W" * 30, "🔥" * 30):
        evil = Variant(Scenario(), name, "no-gqa")
        for picture in overlays.pictures(shown(Comparison((evil,)))):
            drawn = text_of(images.svg(images.specification(picture)))
            assert name[:2] in drawn
            assert "(wrong)" in drawn


def test_words_lie_on_their_halo():
    for picture in overlays.pictures(shown(FOUR)):
        svg = images.svg(images.specification(picture))
        sizes = re.findall(r'<text [^>]*font-size="(\d+)px"[^>]*>D \(wrong\)<', svg)
        assert len(set(sizes)) <= 1


def test_names_of_many_devices_do_not_lie_on_each_other():
    own = Scenario("deepseek-v3", device="h100-sxm", tp=8, dp=8, ep=64)
    picture = bars.devices(evaluate(own))
    svg = images.svg(images.specification(picture))
    seen = [each for each in re.findall(r"<text[^>]*>device", svg) if 'opacity="0"' not in each]
    assert 8 <= len(seen) <= 24


def test_other_work_goes_on_while_a_picture_is_drawn():
    title, pictures, origin = plan_html.pictured(Scenario(), APP)
    spec, beats = images.card(title, pictures, origin), []
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
    _, pictures, _ = plan_html.pictured(Scenario(), APP)
    spec = images.specification(pictures[0])
    with pytest.raises(ValueError, match="conversion failed"):
        images.svg({"mark": 3})
    assert images.svg(spec).startswith("<svg")
    renderer._processes[-1].kill()
    renderer._processes[-1].wait()
    assert images.svg(spec).startswith("<svg")
