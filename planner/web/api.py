"""Plans and comparisons over HTTP, beside the pages: a page's link with /api in front is the same.

GET /api/plan?<the link's query>, or POST /api/plan with a JSON object of the same names, answers
with `plan_report.as_dict`; GET /api/compare?<…> with `comparison_report.as_dict`. With
/<chart>.png or .svg behind the path it is a chart as a picture, `card` those of a link's preview.
/api/schema describes all (OpenAPI 3.1). What the page would correct is rejected here: 400 with
every problem named. Nothing is stored and nothing is fetched.
"""

import asyncio

from anyio import CapacityLimiter, move_on_after, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from planner.compare import comparison
from planner.inputs import choices
from planner.inputs.strict import Read, read_json, read_query
from planner.models.notation import shorten
from planner.reports import comparison_html, comparison_report, images, plan_html, plan_report
from planner.serving import evaluate
from planner.web import openapi
from planner.web.preview import server

MAX_BODY = 64_000  # bytes
BODY_S = 10  # a body must be here by then
ANSWER_S = 20  # and its answer must be ready, waiting included
AT_ONCE, WAITING = 2, 64  # plans worked out at once, and in line; as many pictures besides
DRAWN = {"plan": (read_query, plan_html), "compare": (comparison.read, comparison_html)}
CARD = "card"
FORMS = {"png": "image/png", "svg": "image/svg+xml"}
KEPT = {"cache-control": "public, max-age=3600"}  # a link's picture changes with the version only


def routes(base: str = "") -> list[Route]:
    """The routes below a base path, for Streamlit's server or any other Starlette application."""
    plans, drawings = CapacityLimiter(AT_ONCE), CapacityLimiter(AT_ONCE)
    at = f"/{base.strip('/')}" if base.strip("/") else ""

    async def answered(line, work, *given) -> Response:
        if line.statistics().tasks_waiting >= WAITING:
            return _problems(503, ("", "Too many plans are waiting; ask again in a moment."))
        with move_on_after(ANSWER_S):
            return await to_thread.run_sync(work, *given, limiter=line, abandon_on_cancel=True)
        return _problems(504, ("", f"The answer was not ready after {ANSWER_S} s."))

    async def planned(request: Request) -> Response:
        query = _query(request)
        if request.method != "POST":
            return await answered(plans, _plan, read_query, query)
        if query:
            return _problems(400, ("", "A plan is asked for by its query or its body, not both."))
        try:
            async with asyncio.timeout(BODY_S):
                body = await _body(request)
        except TimeoutError:
            return _problems(408, ("", f"The body was not here after {BODY_S} s."))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        if body is None:
            return _problems(413, ("", f"A body has at most {MAX_BODY:,} bytes."))
        return await answered(plans, _plan, read_json, body)

    async def compared(request: Request) -> Response:
        return await answered(plans, _compare, _query(request))

    async def drawn(request: Request) -> Response:
        address = f"{server(request.scope)}{at}/"
        return await answered(drawings, _draw, request.path_params, _query(request), address)

    async def chosen(request: Request) -> Response:
        kind = request.path_params["kind"]
        if kind not in choices.KINDS:
            return _problems(404, ("", f"There are choices of {', '.join(choices.KINDS)}."))
        return JSONResponse(choices.choices(kind), headers=KEPT)

    async def described(request: Request) -> Response:
        return JSONResponse(openapi.schema())

    async def unknown(request: Request) -> Response:
        return _problems(404, ("", "There are /api/plan, /api/compare, their charts, /api/schema."))

    return [
        Route(f"{at}/api/plan", planned, methods=["GET", "POST"]),
        Route(f"{at}/api/compare", compared, methods=["GET"]),
        Route(f"{at}/api/{{of}}/{{chart}}.{{form}}", drawn, methods=["GET"]),
        Route(f"{at}/api/choices/{{kind}}", chosen, methods=["GET"]),
        Route(f"{at}/api/schema", described, methods=["GET"]),
        Route(f"{at}/api/{{other:path}}", unknown),
    ]


def _query(request):
    return request.scope["query_string"].decode("latin-1")


async def _body(request):
    """The body, or None where it is too long; what is too long is not kept."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            return None
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
