"""The HTML report: whole, offline, with its charts; and texts from outside in it."""

import re
from html import escape
from html.parser import HTMLParser

import pytest

from planner import Scenario, __version__, encode, evaluate
from planner.charts import of_plan
from planner.reports import images, plan_html
from tests.browser import ROOT
from tests.test_report import NAMES, named, served

PICTURES = {"ideal": 4, "vllm": 5}


class Seen(HTMLParser):
    """The elements of a page, their addresses, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.loads, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in ("src", "srcset", "data")]

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("engine", PICTURES)
def test_a_page_loads_nothing_and_holds_its_charts_link_and_version(engine):
    own = served(engine=engine)
    page = plan_html.as_html(own, "http://localhost:8501/")
    seen = Seen(page)
    assert seen.tags.count("img") == PICTURES[engine] == len(list(of_plan.pictures(own)))
    assert all(each.startswith("data:image/svg+xml;base64,") for each in seen.loads)
    assert not {"script", "link", "iframe", "object"} & set(seen.tags)
    assert f"http://localhost:8501/?{encode(own.plan.scenario)}" in seen.text
    assert __version__ in seen.text
    assert "2 × 32 layers × 8 heads × 128 × 2 bytes" in seen.text
    assert "**" not in seen.text


@pytest.mark.parametrize("name", NAMES)
def test_a_name_from_outside_is_text_on_the_page_and_in_its_charts(name):
    own = served(model=named(name))
    page = plan_html.as_html(own, "javascript:alert(1)//")
    assert escape(name) in page
    assert name in Seen(page).text
    assert "href" not in page
    assert "<script" not in page
    for picture in of_plan.pictures(own):
        assert "<script" not in images.svg(images.specification(picture))


def test_the_readmes_python_runs(capsys):
    found = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(found) >= 2
    for code in found:
        exec(code, {})
    assert capsys.readouterr().out == "True 0.031179869184 61.0\n"


def test_several_devices_and_experts_have_their_charts():
    scenario = Scenario(model="deepseek-v3", tp=8, device="h200-sxm")
    titles = [picture.title for picture in of_plan.pictures(evaluate(scenario))]
    assert {"Memory on each device", "Experts read in a step"} <= set(titles)


@pytest.mark.browser
def test_the_page_opens_without_a_network_with_its_charts(chromium, tmp_path):
    own = served(engine="vllm", model=named(NAMES[-1]))
    (tmp_path / "plan.html").write_text(plan_html.as_html(own), "utf-8")
    context = chromium.new_context(offline=True)
    page, asked, said = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto((tmp_path / "plan.html").as_uri())
    drawn = page.evaluate("[...document.images].map(i => i.complete ? i.naturalWidth : 0)")
    assert len(drawn) == PICTURES["vllm"]
    assert min(drawn) > 300
    assert all(re.match(r"(file|data):", url) for url in asked)
    assert said == []
    wide = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 390, "height": 800})
    assert wide
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.pdf().startswith(b"%PDF")
    context.close()
