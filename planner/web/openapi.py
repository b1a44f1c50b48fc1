"""The OpenAPI 3.1 description of `planner.web.api`, made of the limits and presets it enforces."""

from functools import cache

from planner import __version__, figures
from planner.compare import mistakes
from planner.compare.comparison import LETTERS, NAME_LENGTH, SAY_LENGTH
from planner.inputs import presets
from planner.inputs.choices import KINDS
from planner.inputs.link import VERSION
from planner.inputs.scenario import ALL_NUMBERS, FIND, Scenario
from planner.lesson.plan_questions import GIVES
from planner.models import states
from planner.models.notation import PREFIX
from planner.reports import plan_report
from planner.serving import evaluate
from planner.web import openapi_size as sized

PRESETS = {
    "model": presets.models,
    "device": presets.accelerators,
    "weights": presets.weight_formats,
    "cache_k": presets.cache_formats,
    "cache_v": presets.cache_formats,
    "engine": presets.engines,
    "state_format": lambda: states.FORMATS,
}
REFUSED = {
    "400": "Bad input; every problem is named.",
    "404": "There is nothing of that name here; what there is is named.",
    "408": "The body did not arrive in time.",
    "413": "The body is too long.",
    "503": "Too many plans are waiting.",
    "504": "The answer was not ready in time.",
}
OFTEN = ("400", "503", "504")
OF_A_PLAN = tuple(GIVES)  # it names every chart that a plan may have
OF_A_COMPARISON = ("overlaid_memory", "overlaid_latency")
TEXT = {"type": "string"}
CHOICES = {  # as `planner.inputs.choices.choices` gives them
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            **dict.fromkeys(("id", "name", "note"), TEXT),
            "keys": {"type": "array", "items": TEXT},
            "also": {"type": "array", "items": {"type": "array", "items": TEXT}},
        },
        "required": ["id", "name", "note", "keys", "also"],
    },
}
LINK_VERSION = {"type": "integer", "const": VERSION, "description": "The version of the link."}


@cache
def schema() -> dict:
    """The description, as JSON has it."""
    inputs, compared = _inputs(), _compared()
    pictures = {form: {"schema": {"type": "string"}} for form in ("image/png", "image/svg+xml")}
    body = {"type": "object", "properties": inputs, "additionalProperties": False}
    a_report = _json({"$ref": "#/components/schemas/Report"})
    a_sizing = _json({"$ref": "#/components/schemas/Sizing"})
    of_a_trace = _json({"$ref": "#/components/schemas/SizingByTrace"})
    a_trace = {form: {"schema": TEXT} for form in ("text/csv", "application/jsonl")}
    a_comparison = _json({"$ref": "#/components/schemas/Comparison"})
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
                    "parameters": _in_query(inputs),
                    "responses": _responses("The plan.", a_report),
                },
                "post": {
                    "operationId": "planOfJson",
                    "summary": "Plan a JSON object of the link's names.",
                    "requestBody": {"required": True, "content": _json(body)},
                    "responses": _responses("The plan.", a_report, "408", "413"),
                },
            },
            "/api/compare": {
                "get": {
                    "operationId": "compare",
                    "summary": "Compare what a link of the Compare page holds.",
                    "parameters": _in_query(compared),
                    "responses": _responses("The comparison.", a_comparison),
                },
            },
            "/api/size": {
                "get": {
                    "operationId": "size",
                    "summary": "Size what a link of the Size page asks for: the deployments that "
                    "keep a promise, and the best of them in full.",
                    "parameters": _in_query(sized.inputs()),
                    "responses": _responses("The sizing.", a_sizing),
                },
                "post": {
                    "operationId": "sizeOfTrace",
                    "summary": "The same for the load of a trace, where the link does not say "
                    "otherwise: Azure, BurstGPT, Mooncake, or a table of arrival_s, "
                    "prompt_tokens and output_tokens.",
                    "parameters": _in_query(sized.inputs()),
                    "requestBody": {"required": True, "content": a_trace},
                    "responses": _responses("The sizing.", of_a_trace, "408", "413"),
                },
            },
            "/api/choices/{kind}": {
                "get": {
                    "operationId": "choices",
                    "summary": "What can be chosen, under all its names, the most used first.",
                    "parameters": _in_path(kind=list(KINDS)),
                    "responses": _responses("The choices.", _json(CHOICES), "404"),
                },
            },
            "/api/plan/{chart}.{form}": {
                "get": {
                    "operationId": "planChart",
                    "summary": "A chart of a plan, or the two of its preview, as a picture.",
                    "parameters": [*_of_picture(*OF_A_PLAN), *_in_query(inputs)],
                    "responses": _responses("The picture.", pictures, "404"),
                },
            },
            "/api/compare/{chart}.{form}": {
                "get": {
                    "operationId": "compareChart",
                    "summary": "A chart of a comparison, or both, as a picture.",
                    "parameters": [*_of_picture(*OF_A_COMPARISON), *_in_query(compared)],
                    "responses": _responses("The picture.", pictures, "404"),
                },
            },
        },
        "components": {
            "schemas": {
                "Report": _report(),
                "Comparison": _comparison(),
                "Sizing": sized.report(),
                "SizingByTrace": sized.report_by_trace(),
                "Problems": _problem_list(),
            }
        },
    }


def _of_picture(*charts):
    """Which picture it is, and in what form."""
    return _in_path(chart=[*charts, "card"], form=["png", "svg"])


def _in_path(**known):
    return [
        {"name": name, "in": "path", "required": True, "schema": {"enum": values}}
        for name, values in known.items()
    ]


def _in_query(inputs):
    return [
        {"name": name, "in": "query", "required": False, "schema": each}
        for name, each in inputs.items()
    ]


def _responses(described, content, *more):
    """What is answered: the good, and what is refused, with the problems named."""
    refused = {"content": _json({"$ref": "#/components/schemas/Problems"})}
    return {
        "200": {"description": described, "content": content},
        **{status: {"description": REFUSED[status], **refused} for status in (*OFTEN, *more)},
    }


def _json(of):
    return {"application/json": {"schema": of}}


def _inputs():
    """What each parameter may be, by name."""
    found = {"v": LINK_VERSION}
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
    guesses = "Who guesses tokens ahead: mtp, eagle, or a model; none where empty"
    found["draft"] = {"type": "string", "description": guesses}
    return found


def _compared():
    """What each parameter of a comparison may be, by name."""
    found = {"v": LINK_VERSION}
    for letter in LETTERS:
        found[letter] = {"type": "string", "description": "The query of a plan's own link."}
        found[f"{letter}n"] = {"type": "string", "maxLength": NAME_LENGTH}
        found[f"{letter}m"] = {"type": "string", "enum": ["", *mistakes.KNOWN]}
    found["say"] = {"type": "string", "maxLength": SAY_LENGTH}
    return found


def _comparison():
    """Every key of a comparison's report; each plan's is a report with its letter and name."""
    own = {
        "report_version": "number",
        "app_version": "string",
        "link": "string",
        "say": "string",
        "headline": "string",
        "fits": "boolean",
    }
    named = {name: {"type": "string"} for name in ("letter", "name", "mistake")}
    each = {"type": "object", "properties": named, "required": list(named)}
    plans = {
        "type": "array",
        "minItems": 1,
        "maxItems": len(LETTERS),
        "items": {"allOf": [{"$ref": "#/components/schemas/Report"}, each]},
    }
    properties = {name: {"type": kind} for name, kind in own.items()} | {"plans": plans}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _report():
    """Every key of the report with its type and, for a number, what it is and its unit."""
    evaluation = evaluate(Scenario(engine="vllm"))
    described = {}
    for each in figures.entries(evaluation):
        described[each.key] = f"{each.label}, {each.unit}, {each.kind}"
        for end, key in each.ends.items():
            described[key] = f"{described[each.key]}, {end} end of its band"
    properties = {}
    for key, value in plan_report.as_dict(evaluation).items():
        kind = {bool: "boolean", str: "string"}.get(type(value), "number")
        nullable = key in described or key in ("fits_calibrated", "load_calibrated")
        properties[key] = {"type": [kind, "null"] if nullable else kind}
        if key in described:
            properties[key]["description"] = described[key]
    return {"type": "object", "properties": properties, "required": list(properties)}


def _problem_list():
    one = {
        "type": "object",
        "properties": {"parameter": {"type": "string"}, "problem": {"type": "string"}},
        "required": ["parameter", "problem"],
    }
    listed = {"type": "array", "minItems": 1, "items": one}
    return {"type": "object", "properties": {"problems": listed}, "required": ["problems"]}
