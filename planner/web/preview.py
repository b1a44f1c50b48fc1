"""What a chat shows of a link: a title, a sentence and a picture, in the head of the page.

Streamlit sends every page as the same empty shell, and whoever reads a link for a preview runs no
script. So the shell's head is told here what the link holds. A question keeps its answer: its
preview has neither verdict nor picture.
"""

import logging
from html import escape
from typing import NamedTuple
from urllib.parse import parse_qs

from anyio import to_thread

from planner import answer, describe
from planner.compare import comparison, differences
from planner.compare.comparison import Comparison
from planner.inputs import question
from planner.inputs.scenario import decode, encode
from planner.inputs.strict import MAX_FIELDS, PAGE_ONLY
from planner.lesson import words as lesson
from planner.serving import evaluate
from planner.sizing import answer as size_answer
from planner.sizing import query
from planner.web.guard import app_address
from planner.web.options import Options

NAME = "LLM capacity planner"
OTHERS = {
    "log": "A start-up log of a serving engine, against what the planner predicts of it.",
    "accuracy": "Predicted against measured: how far the planner's numbers can be trusted.",
}
SIZES = "From a workload and a promise to devices and their cost."
WHAT_IT_IS = "Whether a large language model fits, how long each token takes, and why."
# A page is asked for as a whole and as it is now: what is sent is not the file that lies there.
LEFT_OUT = {b"accept-encoding", b"if-none-match", b"if-modified-since", b"range"}
OF_THE_FILE = {b"content-length", b"etag", b"last-modified"}


class Preview(NamedTuple):
    """title, description: plain texts. picture: where it is, below the app's address, or “”."""

    title: str
    description: str
    picture: str = ""


def of(page: str, text: str) -> Preview:
    """The preview of one of `pages`, by the last part of its address, and its query's text.

    No query is an error: one that is too long or has too many parameters counts as none.
    """
    try:
        kept = text if len(text) <= comparison.MAX_QUERY else ""
        given = parse_qs(kept, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        given = {}
    if page == "":
        return _plan(given)
    if page == "compare":
        return _comparison(given)
    if page == "size":
        return _size(given)
    if page in OTHERS:
        return Preview(f"{page.capitalize()} · {NAME}", OTHERS[page])
    entry = lesson.pages()[page]
    _, asked = question.split(given)
    say = question.plain(next(iter(asked.get("say", ())), ""))
    return Preview(f"{entry.title} · {NAME}", say or entry.lead)


def _plan(given):
    own, shared = question.split(given, PAGE_ONLY)
    if not own and not shared:
        return Preview(NAME, WHAT_IT_IS, "api/plan/card.png")
    scenario, _ = decode(own)
    evaluation = evaluate(scenario)
    said = f"{describe.inputs(evaluation.plan)} · {evaluation.engine.name}"
    if any(shared.get("ask", ())):
        say = question.plain(next(iter(shared.get("say", ())), ""))
        return Preview(f"{say or 'What do you expect?'} · {NAME}", f"Guess first: {said}")
    verdict, detail = answer.verdict(evaluation)
    return Preview(verdict, f"{detail} {said}", f"api/plan/card.png?{encode(scenario)}")


def _comparison(given):
    found, _ = comparison.decode(given)
    if found == Comparison():
        return Preview(f"Compare · {NAME}", WHAT_IT_IS)
    all_ = differences.shown(found)
    said = [differences.against(all_[0], each) for each in all_[1:]]
    labels = ", ".join(found.named())
    picture = f"api/compare/card.png?{comparison.encode(found)}"
    described = " ".join([each for each in (found.say, f"{labels}.", *said) if each])
    return Preview(differences.headline(all_), described, picture)


def _size(given):
    own, _ = question.split(given, PAGE_ONLY)
    if not own:
        return Preview(f"Size · {NAME}", SIZES)
    ask, _ = query.decode(own)
    found = size_answer.answer(ask)
    title, detail = size_answer.verdict(found)
    return Preview(title, f"{detail} {size_answer.question(ask)}")


def pages() -> set[str]:
    """The last part of every page's address; that of the plan is empty."""
    return {"", "compare", "size", *OTHERS, *lesson.pages()}


def tags(preview: Preview, app: str) -> str:
    """A preview as elements of a page's head. app: the address of the app, ending in “/”."""
    named = {"description": preview.description, "twitter:card": "summary"}
    properties = {
        "og:type": "website",
        "og:site_name": NAME,
        "og:title": preview.title,
        "og:description": preview.description,
    }
    if preview.picture:
        named["twitter:card"] = "summary_large_image"
        properties["og:image"] = app + preview.picture
    lines = [f"<title>{escape(preview.title)}</title>"]
    lines += [f'<meta name="{key}" content="{escape(text)}">' for key, text in named.items()]
    lines += [
        f'<meta property="{key}" content="{escape(text)}">' for key, text in properties.items()
    ]
    return "\n".join(lines)


PLAIN = Preview(NAME, WHAT_IT_IS)  # where what a link holds cannot be said


class Previews:
    """ASGI middleware that puts a link's preview into the head of the page it is of.

    base: the path below which the app is, as Streamlit's `server.baseUrlPath` has it.
    """

    def __init__(self, app, options: Options, base: str = ""):
        self.app, self.options = app, options
        self.base = f"/{base.strip('/')}" if base.strip("/") else ""

    async def __call__(self, scope, receive, send):
        before, _, page = scope.get("path", "").rpartition("/")
        asked_for = scope["type"] == "http" and scope["method"] == "GET" and before == self.base
        if not asked_for or page not in pages():
            return await self.app(scope, receive, send)
        asked = scope["query_string"].decode("latin-1")
        try:
            preview = await to_thread.run_sync(of, page, asked)
        except Exception:  # a page opens and says what is wrong; its preview must not stand before
            logging.getLogger(__name__).exception("no preview of /%s?%s", page, asked)
            preview = PLAIN
        head = tags(preview, app_address(scope, self.options, self.base)).encode()
        sent = [each for each in scope["headers"] if each[0] not in LEFT_OUT]
        await self.app({**scope, "headers": sent}, receive, _with_head(head, send))
        return None


def _with_head(head, send):
    """A `send` that puts `head` into an HTML page on its way, and lets anything else pass."""
    start, body = {}, bytearray()

    async def sent(message):
        if message["type"] == "http.response.start":
            kind = dict(message["headers"]).get(b"content-type", b"")
            if message["status"] == 200 and kind.startswith(b"text/html"):
                start.update(message)
                return
        if not start or message["type"] != "http.response.body":
            await send(message)
            return
        body.extend(message.get("body", b""))
        if message.get("more_body"):
            return
        page = _titled(bytes(body), head)
        kept = [each for each in start["headers"] if each[0] not in OF_THE_FILE]
        added = [(b"content-length", str(len(page)).encode()), (b"vary", b"host")]
        await send({**start, "headers": [*kept, *added]})
        await send({"type": "http.response.body", "body": page})

    return sent


def _titled(page, head):
    """A page with `head` in place of its title."""
    before, _, rest = page.partition(b"<title>")
    _, closed, after = rest.partition(b"</title>")
    return before + head + after if closed else page
