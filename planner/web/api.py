"""Plans and comparisons over HTTP, beside the pages: a page's link with /api in front is the same.

GET /api/plan?<the link's query>, or POST /api/plan with a JSON object of the same names, answers
with `plan_report.as_dict`; GET /api/compare?<…> with `comparison_report.as_dict`; GET
/api/size?<…> with what keeps a promise, `sizing.report.as_dict`, and POST /api/size?<…> with a
trace of requests (CSV or JSON Lines) as its body with the same for the load of that trace. With
/<chart>.png or .svg behind the path it is a chart as a picture, `card` those of a link's preview.
/api/schema describes all (OpenAPI 3.1). What the page would correct is rejected here: 400 with
every problem named. Nothing is stored and nothing is fetched.
"""

import asyncio
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode

from anyio import CapacityLimiter, Semaphore, WouldBlock, move_on_after, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from planner.compare import comparison
from planner.inputs import choices
from planner.inputs.strict import Read, read_json, read_query
from planner.models.notation import shorten
from planner.reports import comparison_html, comparison_report, images, plan_html, plan_report
from planner.serving import evaluate
from planner.sizing import answer as size_answer
from planner.sizing import from_trace
from planner.sizing import query as size_query
from planner.sizing import report as size_report
from planner.sizing.traces import read_trace
from planner.web import openapi
from planner.web.guard import app_address
from planner.web.options import NONE, Options

MAX_BODY = 64_000  # bytes
BODY_S = 10  # a body must be here by then
MAX_TRACE = 16_000_000  # bytes, some 400,000 requests
TRACE_S = 60
TRACES_AT_ONCE = 4  # being received
ANSWER_S = 20  # and its answer must be ready, waiting included
AT_ONCE = 2  # plans worked out at once, and as many pictures besides
WAITING = {"plans": 64, "pictures": 24}  # in line behind them; a picture takes far longer
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
DRAWN = {"plan": (read_query, plan_html), "compare": (comparison.read, comparison_html)}
CARD = "card"
FORMS = {"png": "image/png", "svg": "image/svg+xml"}
# A link's picture changes with the version only; the address in it may be that of the request.
KEPT = {"cache-control": "public, max-age=3600", "vary": "host"}


class Line:
    """Work done so many at once, with so many more in line; whoever has gone is not served."""

    def __init__(self, waiting: int, at_once: int = AT_ONCE):
        self.most, self.inside, self.limiter = at_once + waiting, 0, CapacityLimiter(at_once)

    async def answered(self, request: Request, work: Callable, *given) -> Response:
        """What `work` answers, or why it does not: 503 with a full line, 504 too late."""
        if self.inside >= self.most:  # counted here, at once: all of a burst are asked before any
            return _problems(503, ("", "Too many plans are waiting; ask again in a moment."))
        self.inside += 1
        try:
            with move_on_after(ANSWER_S):
                async with self.limiter:
                    if await request.is_disconnected():
                        return Response(status_code=400)  # nobody is there to read it
                    return await to_thread.run_sync(work, *given, abandon_on_cancel=True)
            return _problems(504, ("", f"The answer was not ready after {ANSWER_S} s."))
        finally:
            self.inside -= 1


def routes(base: str = "", options: Options = NONE) -> list[Route]:
    """The routes below a base path, for Streamlit's server or any other Starlette application."""
    plans, drawings = (Line(WAITING[name]) for name in ("plans", "pictures"))
    at = f"/{base.strip('/')}" if base.strip("/") else ""

    async def planned(request: Request) -> Response:
        query = _query(request)
        if request.method != "POST":
            return await plans.answered(request, _plan, read_query, query)
        if query:
            return _problems(400, ("", "A plan is asked for by its query or its body, not both."))
        body = await _received(request, MAX_BODY, BODY_S)
        if isinstance(body, Response):
            return body
        return await plans.answered(request, _plan, read_json, body)

    async def compared(request: Request) -> Response:
        return await plans.answered(request, _compare, _query(request))

    receiving = Semaphore(TRACES_AT_ONCE)

    async def sized(request: Request) -> Response:
        if request.method != "POST":
            return await plans.answered(request, _size, _query(request))
        try:
            receiving.acquire_nowait()
        except WouldBlock:
            return _problems(503, ("", "Too many traces are on their way; send it in a moment."))
        try:
            trace = await _received(request, MAX_TRACE, TRACE_S)
            if isinstance(trace, Response):
                return trace
            return await plans.answered(request, _size_by_trace, _query(request), trace)
        finally:
            receiving.release()

    async def drawn(request: Request) -> Response:
        address = app_address(request.scope, options, base)
        given = (request.path_params, _query(request), address)
        return await drawings.answered(request, _draw, *given)

    async def chosen(request: Request) -> Response:
        kind = request.path_params["kind"]
        if kind not in choices.KINDS:
            return _problems(404, ("", f"There are choices of {', '.join(choices.KINDS)}."))
        return JSONResponse(choices.choices(kind), headers=KEPT)

    async def described(request: Request) -> Response:
        return JSONResponse(openapi.schema())

    async def unknown(request: Request) -> Response:
        listed = "/api/plan, /api/compare, their charts, /api/size, /api/schema"
        return _problems(404, ("", f"There are {listed}."))

    return [
        _route(f"{at}/api/plan", planned, "GET", "HEAD", "POST"),
        _route(f"{at}/api/compare", compared),
        _route(f"{at}/api/size", sized, "GET", "HEAD", "POST"),
        _route(f"{at}/api/{{of}}/{{chart}}.{{form}}", drawn),
        _route(f"{at}/api/choices/{{kind}}", chosen),
        _route(f"{at}/api/schema", described),
        _route(f"{at}/api/{{other:path}}", unknown, *METHODS),
    ]


def _route(path, endpoint, *methods):
    """A route that itself refuses any other method, as the rest of the API refuses."""
    methods = methods or ("GET", "HEAD")

    async def asked(request: Request) -> Response:
        if request.method in methods:
            return await endpoint(request)
        allowed = ", ".join(methods)
        refused = _problems(405, ("", f"{request.method} is not possible here; {allowed} are."))
        refused.headers["allow"] = allowed
        return refused

    return Route(path, asked, methods=METHODS)


def _query(request):
    return request.scope["query_string"].decode("latin-1")


async def _received(request, most, seconds) -> bytes | Response:
    """The body, or why it is not taken; what is too long is not kept."""
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    return _problems(413, ("", f"A body has at most {most:,} bytes."))
    except TimeoutError:
        return _problems(408, ("", f"The body was not here after {seconds} s."))
    except ClientDisconnect:
        return Response(status_code=400)  # nobody is there to read it
    return bytes(body)


def _plan(reader, text) -> Response:
    read: Read = reader(text)
    if read.problems:
        return _problems(400, *read.problems)
    return JSONResponse(plan_report.as_dict(evaluate(read.found)))


def _compare(query) -> Response:
    read = comparison.read(query)
    if read.problems:
        return _problems(400, *read.problems)
    return JSONResponse(comparison_report.as_dict(read.found))


def _size(asked) -> Response:
    read = size_query.read(asked)
    if read.problems:
        return _problems(400, *read.problems)
    return JSONResponse(size_report.as_dict(size_answer.answer(read.found)))


def _size_by_trace(asked, raw) -> Response:
    """The same for the load of a trace, where the question does not say otherwise."""
    try:
        trace = read_trace(raw)
    except ValueError as problem:
        return _problems(400, ("", str(problem)))
    given = dict(parse_qsl(asked, keep_blank_values=True))
    read = size_query.read(urlencode(from_trace.beside(trace.summary(), given)))
    if read.problems:
        return _problems(400, *read.problems)
    found = size_report.as_dict(size_answer.answer(read.found))
    return JSONResponse(found | {"trace": from_trace.as_dict(trace)})


def _draw(asked, query, address) -> Response:
    """One chart of a plan or comparison, or its card, as a picture."""
    of, chart, form = asked["of"], asked["chart"], asked["form"]
    if of not in DRAWN or form not in FORMS:
        return _problems(404, ("", "Pictures are /api/plan/… or /api/compare/…, .png or .svg."))
    reader, page = DRAWN[of]
    read = reader(query)
    if read.problems:
        return _problems(400, *read.problems)
    title, pictures, origin = page.pictured(read.found, address)
    named = {picture.id: picture for picture in pictures}
    if chart == CARD:
        spec = images.card(title, pictures, origin)
    elif chart in named:
        spec = images.framed(named[chart], origin)
    else:
        listed = ", ".join([*named, CARD])
        text = f"There is no chart “{shorten(chart)}” here; there are {listed}."
        return _problems(404, ("", text))
    made = (images.svg if form == "svg" else images.png)(spec, origin.signed)
    return Response(made, media_type=FORMS[form], headers=KEPT)


def _problems(status, *problems):
    named = [{"parameter": name, "problem": text} for name, text in problems]
    return JSONResponse({"problems": named}, status)
