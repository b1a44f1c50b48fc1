"""The part of the OpenAPI description that is of sizing: its parameters and its report."""

from planner.inputs import presets
from planner.inputs.link import VERSION, Choice, Number
from planner.models import states
from planner.models.notation import PREFIX
from planner.sizing import query
from planner.sizing import report as reports
from planner.sizing.traces import MOST_NAMED

KNOWN = {
    "weights": presets.weight_formats,
    "cache": presets.cache_formats,
    "device": presets.accelerators,
    "engine": query.engines,
    "state_format": lambda: states.FORMATS,
    "workload": query.workloads,
}
WRITTEN = {  # as a plan's own
    "draft": "Who guesses tokens ahead: mtp, eagle, or a model; none where empty",
    "set": "Figures of the engine: fraction:0.95,…",
}
TEXTS = ("app_version", "link", "verdict", "verdict_detail")
TEXTS_OR_NULL = ("load", "deployment", "plan_link", "newest_price")
COUNT = {"type": "integer", "minimum": 0}
COUNTS = ("report_version", "deployments_tried", "deployments_refused", "deployments_kept")


def inputs() -> dict:
    """What each parameter of a sizing may be, by name."""
    found = {"v": {"type": "integer", "const": VERSION, "description": "The version of the link."}}
    for name, kind in query.PARAMETERS.items():
        if isinstance(kind, Number):
            found[name] = {
                "type": "integer" if kind.whole else "number",
                "minimum": kind.minimum,
                "maximum": kind.maximum,
                "description": f"{kind.label} ({kind.unit})",
            }
        elif isinstance(kind, Choice):
            found[name] = {"type": "string", "enum": list(kind.options), "description": kind.label}
        elif name == "model":
            known = {"type": "string", "enum": list(presets.models())}
            notation = {"type": "string", "pattern": f"^{PREFIX}", "maxLength": 4000}
            found[name] = {"anyOf": [known, notation]}
        elif name in WRITTEN:
            found[name] = {"type": "string", "description": WRITTEN[name]}
        else:
            any_of = [""] * (name in query.ABSENT)
            found[name] = {"type": "string", "enum": [*any_of, *KNOWN[name]()]}
    return found


def report_by_trace() -> dict:
    """The report, and what was read of a trace."""
    malformed = {"type": "object", "properties": {"line": COUNT, "problem": {"type": "string"}}}
    properties = {
        "requests": COUNT,
        "span_s": {"type": "number"},
        "format": {"type": "string"},
        "malformed_rows": COUNT,
        "malformed_named": {"type": "array", "maxItems": MOST_NAMED, "items": malformed},
    }
    read = {"type": "object", "properties": properties, "required": list(properties)}
    own = {"type": "object", "properties": {"trace": read}, "required": ["trace"]}
    return {"allOf": [{"$ref": "#/components/schemas/Sizing"}, own]}


def report() -> dict:
    """Every key of a sizing's report."""
    number = {"type": ["number", "null"]}
    row = {name: {"type": "string"} for name in ("deployment", "link")}
    row |= dict.fromkeys(reports.KEYS_OF_RANKED, number)
    ranked = {"type": "object", "properties": row, "required": list(row)}
    properties = {
        **{name: {"type": "string"} for name in TEXTS},
        **{name: {"type": ["string", "null"]} for name in TEXTS_OR_NULL},
        **{name: {"type": "number"} for name in COUNTS},
        "keeps": {"type": "boolean"},
        **{
            each.key: number | {"description": ", ".join(filter(None, (each.label, each.unit)))}
            for each in reports.ENTRIES
        },
        "ranked": {"type": "array", "maxItems": reports.RANKED_SHOWN, "items": ranked},
    }
    return {"type": "object", "properties": properties, "required": list(properties)}
