"""The preview of a link: what it says, what it keeps to itself, and the page that carries it."""

import re
import urllib.request
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from planner import answer, encode, evaluate
from planner.compare.comparison import encode as encode_comparison
from planner.lesson import words
from planner.web import preview
from planner.web.options import Options
from tests.test_comparison import LESSON
from tests.test_comparison import comparisons as some_comparisons
from tests.test_plan import scenarios
from tests.test_report import NAMES, named
from tests.test_scenario import BAD_LINKS

SHELL = "<html><head><title>Streamlit</title></head><body>page</body></html>"


def shell(request):
    return HTMLResponse(SHELL, headers={"etag": "of the file", "x-kept": "yes"})


ROUTES = [
    Route("/below/picture", lambda request: Response(b"<title>", media_type="image/png")),
    Route("/below/log", lambda request: Response(b"<title>a</title>", media_type="text/plain")),
    Route("/{page:path}", shell),
]


@pytest.fixture(scope="module")
def client():
    named = Options("https://plans.example/below/")
    app = preview.Previews(Starlette(routes=ROUTES), named, "/below/")
    with TestClient(app, "https://another.example") as made:
        yield made


class Head(HTMLParser):
    """The title of a page and what its meta elements say."""

    def __init__(self, page):
        super().__init__()
        self.said, self.tags, self.title, self.inside = {}, [], "", False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside = tag == "title"
        found = dict(attrs)
        if tag == "meta" and "content" in found:
            self.said[found.get("name") or found.get("property")] = found["content"]

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        self.title += data if self.inside else ""


@given(scenarios())
def test_a_plan_says_its_verdict_and_where_its_picture_is(scenario):
    found = preview.of("", encode(scenario))
    verdict, detail = answer.verdict(evaluate(scenario))
    assert found.title == verdict
    assert found.description.startswith(detail)
    assert found.picture == f"api/plan/card.png?{encode(scenario)}"


@given(scenarios(), st.sampled_from(["fits", "step", "cache,token", "nonsense"]))
def test_a_question_keeps_its_answer(scenario, ask):
    found = preview.of("", f"{encode(scenario)}&{urlencode({'ask': ask, 'say': 'What if?'})}")
    verdict, detail = answer.verdict(evaluate(scenario))
    assert found.title.startswith("What if?")
    assert verdict not in found.title + found.description
    assert detail not in found.description
    assert not found.picture


@given(some_comparisons)
def test_a_comparison_says_its_headline(comparison):
    found = preview.of("compare", encode_comparison(comparison))
    assert bool(found.picture) == bool(comparison.variants or comparison.say)
    assert comparison.say in found.description


@given(st.sampled_from(sorted(preview.pages())), st.text(max_size=300))
def test_no_query_is_too_much_for_it(page, query):
    assert preview.of(page, query).title


def test_links_that_must_be_mended_have_a_preview_too():
    for query, _, _ in BAD_LINKS:
        assert preview.of("", query).title
    for query in ("&".join(["a=1"] * 500), "context=" + "9" * 100_000):
        assert preview.of("", query) == preview.of("", "")


def test_each_page_has_its_own():
    titles = {page: preview.of(page, "").title for page in preview.pages()}
    assert len(set(titles.values())) == len(titles) == 5 + len(words.pages())


def test_the_head_of_a_page_carries_it(client):
    answered = client.get(f"/below/compare?{encode_comparison(LESSON)}")
    head = Head(answered.text)
    assert head.title == head.said["og:title"] == "GQA on fits; GQA off does not."
    assert head.said["og:description"].startswith("same model, GQA off")
    picture = head.said["og:image"]
    assert picture.startswith("https://plans.example/below/api/compare/card.png?v=1&a=")
    assert head.said["twitter:card"] == "summary_large_image"
    assert answered.text.endswith("<body>page</body></html>")
    assert answered.headers["x-kept"] == "yes"
    assert "etag" not in answered.headers
    assert int(answered.headers["content-length"]) == len(answered.content)


def test_a_page_opens_whatever_becomes_of_its_preview(client, monkeypatch, caplog):
    def broken(scenario):
        raise ZeroDivisionError("of this link")

    monkeypatch.setattr(preview, "evaluate", broken)
    answered = client.get("/below/?context=4096")
    head = Head(answered.text)
    assert (answered.status_code, head.title) == (200, preview.NAME)
    assert head.said["og:description"] == preview.WHAT_IT_IS
    assert "og:image" not in head.said
    assert answered.text.endswith("<body>page</body></html>")
    assert "of this link" in caplog.text


def test_what_is_no_page_passes_as_it_is(client):
    assert client.get("/below/picture").content == b"<title>"
    assert client.get("/below/log").text == "<title>a</title>"
    assert client.post("/below/").status_code == 405
    for path in ("/below/unknown", "/compare", "/below/further/compare"):
        assert client.get(path).text == SHELL
        assert client.get(path).headers["etag"] == "of the file"


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("localhost:8501", "http://localhost:8501/below/api/plan/card.png"),
        ("192.168.1.20:8501", "http://192.168.1.20:8501/below/api/plan/card.png"),
        ("[::1]:8501", "http://[::1]:8501/below/api/plan/card.png"),
        ("evil.example", "/below/api/plan/card.png"),
        ("localhost@evil.example", "/below/api/plan/card.png"),
        ("127.0.0.1/evil.example", "/below/api/plan/card.png"),
        ("8.8.8.8", "/below/api/plan/card.png"),
        ("localhost:x", "/below/api/plan/card.png"),
        ("", "/below/api/plan/card.png"),
    ],
)
def test_without_a_named_address_no_host_from_outside_is_believed(host, said):
    app = preview.Previews(Starlette(routes=ROUTES), Options(), "below")
    headers = {"host": host, "x-forwarded-proto": "https", "x-forwarded-host": "evil.example"}
    answered = TestClient(app).get("/below/", headers=headers)
    assert Head(answered.text).said["og:image"] == said
    assert answered.headers["vary"] == "host"


@pytest.mark.parametrize("name", NAMES)
def test_texts_from_outside_are_text_in_the_head(client, name):
    model = quote(named(name))
    for path in (f"?model={model}", f"?ask=step&say={quote(name)}", f"why?say={quote(name)}"):
        head = Head(client.get(f"/below/{path}").text)
        assert set(head.tags) <= {"html", "head", "title", "meta", "body"}
        assert name in head.said["og:description"] + head.said["og:title"]


def test_the_host_is_text_too(client):
    page = client.get("/below/", headers={"host": 'x"><script>alert(1)</script>'}).text
    assert "<script" not in page


def test_the_running_app_sends_it(app):
    with urllib.request.urlopen(f"{app}/?model=lesson-7b-mha&memory=40") as response:
        page = response.read().decode()
    head = Head(page)
    assert head.title.startswith("Does not fit")
    assert head.said["og:image"].startswith(f"{app}/api/plan/card.png?v=1&model=lesson-7b-mha")
    with urllib.request.urlopen(head.said["og:image"]) as response:
        assert response.headers["content-type"] == "image/png"
        assert response.read(8) == b"\x89PNG\r\n\x1a\n"
    assert re.search(r'<script type="module"', page)  # the page itself is whole
