"""The plan over HTTP, beside the pages: the page's link with /api/plan in front is the same plan.

GET /api/plan?<the link's query>, or POST /api/plan with a JSON object of the same names, answers
with `report.as_dict`; /api/schema describes both (OpenAPI 3.1). What the page would mend is
refused here: 400 with every problem named. Nothing is stored and nothing is fetched.
"""

import asyncio
from functools import cache

from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from planner import __version__, presets, report
from planner.notation import PREFIX
from planner.plan import plan
from planner.scenario import ALL_NUMBERS, FIND, Scenario
from planner.serving import serve
from planner.strict import Read, read_json, read_query

MAX_BODY = 64_000  # bytes
BODY_S = 10  # a body must be here by then
AT_ONCE, WAITING = 2, 64  # plans worked out at once, and in line behind them
PRESETS = {
    "model": presets.models,
    "device": presets.accelerators,
    "weights": presets.weight_formats,
    "cache_k": presets.cache_formats,
    "cache_v": presets.cache_formats,
    "engine": presets.engines,
}


def routes() -> list[Route]:
    """The routes, for Streamlit's server or any other Starlette application."""
    line = CapacityLimiter(AT_ONCE)

    async def planned(request: Request) -> Response:
        if line.statistics().tasks_waiting >= WAITING:
            return _problems(503, ("", "Too many plans are waiting; ask again in a moment."))
        query = request.scope["query_string"].decode("latin-1")
        if request.method != "POST":
            return await to_thread.run_sync(_answer, read_query, query, limiter=line)
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
        return await to_thread.run_sync(_answer, read_json, body, limiter=line)

    async def described(request: Request) -> Response:
        return JSONResponse(schema())

    return [
        Route("/api/plan", planned, methods=["GET", "POST"]),
        Route("/api/schema", described, methods=["GET"]),
    ]


async def _body(request):
    """The body, or None where it is too long; what is too long is not kept."""
    held = bytearray()
    async for chunk in request.stream():
        held += chunk
        if len(held) > MAX_BODY:
            return None
    return bytes(held)


def _answer(reader, text) -> Response:
    read: Read = reader(text)
    if read.problems:
        return _problems(400, *read.problems)
    return JSONResponse(report.as_dict(serve(plan(read.scenario))))


def _problems(status, *problems):
    named = [{"parameter": name, "problem": text} for name, text in problems]
    return JSONResponse({"problems": named}, status)


# --- OpenAPI --------------------------------------------------------------------------------------


@cache
def schema() -> dict:
    """The OpenAPI 3.1 description, made of the same limits and presets that are enforced."""
    inputs = _inputs()
    refused = {
        status: {"description": text, "content": _json({"$ref": "#/components/schemas/Problems"})}
        for status, text in (
            ("400", "Bad input; every problem is named."),
            ("408", "The body did not arrive in time."),
            ("413", "The body is too long."),
            ("503", "Too many plans are waiting."),
        )
    }
    good = {
        "200": {
            "description": "The plan.",
            "content": _json({"$ref": "#/components/schemas/Report"}),
        }
    }
    query = [
        {"name": name, "in": "query", "required": False, "schema": each}
        for name, each in inputs.items()
    ]
    body = {"type": "object", "properties": inputs, "additionalProperties": False}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "LLM capacity planner",
            "version": __version__,
            "description": "Whether a language model fits, and how long a token takes. "
            "Each parameter left out has its default; limits between parameters, as a model whose "
            "heads do not divide, are answered with 400 too.",
        },
        "paths": {
            "/api/plan": {
                "get": {
                    "operationId": "plan",
                    "summary": "Plan what a link of the page holds.",
                    "parameters": query,
                    "responses": good | {name: refused[name] for name in ("400", "503")},
                },
                "post": {
                    "operationId": "planOfJson",
                    "summary": "Plan a JSON object of the link's names.",
                    "requestBody": {"required": True, "content": _json(body)},
                    "responses": good | refused,
                },
            }
        },
        "components": {"schemas": {"Report": _report(), "Problems": _problem_list()}},
    }


def _json(held):
    return {"application/json": {"schema": held}}


def _inputs():
    """What each parameter may be, by name."""
    found = {"v": {"type": "integer", "const": 1, "description": "The version of the link."}}
    for name in FIND:
        known = {"type": "string", "enum": list(PRESETS[name]())}
        if name == "model":
            notation = {"type": "string", "pattern": f"^{PREFIX}", "maxLength": 4000}
            known = {"anyOf": [known, notation]}
        found[name] = known
    for name, number in ALL_NUMBERS.items():
        found[name] = {
            "type": "integer" if number.whole else "number",
            "minimum": number.minimum,
            "maximum": number.maximum,
            "description": f"{number.label} ({number.unit})",
        }
        if getattr(Scenario, name) is not None:
            found[name]["default"] = getattr(Scenario, name)
    found["set"] = {"type": "string", "description": "Figures of the engine: fraction:0.95,…"}
    return found


def _report():
    """Every key of the report with its type and, for a number, what it is and its unit."""
    served = serve(plan(Scenario(engine="vllm")))
    said = {each.key: f"{each.label}, {each.unit}, {each.kind}" for each in report.numbers(served)}
    properties = {}
    for key, value in report.as_dict(served).items():
        plain = key.replace("_calibrated_low", "_calibrated").replace(
            "_calibrated_high", "_calibrated"
        )
        kind = {bool: "boolean", str: "string"}.get(type(value), "number")
        nullable = kind == "number" or key == "fits_calibrated"
        properties[key] = {"type": [kind, "null"] if nullable else kind}
        if plain in said:
            end = {"_low": ", low end of its band", "_high": ", high end of its band"}
            ends = [text for name, text in end.items() if f"_calibrated{name}" in key]
            properties[key]["description"] = "".join([said[plain], *ends])
    return {"type": "object", "properties": properties, "required": list(properties)}


def _problem_list():
    one = {
        "type": "object",
        "properties": {"parameter": {"type": "string"}, "problem": {"type": "string"}},
        "required": ["parameter", "problem"],
    }
    listed = {"type": "array", "minItems": 1, "items": one}
    return {"type": "object", "properties": {"problems": listed}, "required": ["problems"]}
