"""The kinds of lines of presets/log_lines.csv as patterns, and what their figures are worth.

A line is looked for by its fixed words (a plain search, linear in the text) and only then matched,
at that place and no further than `REACH` characters; every repetition in a pattern has a bound.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from planner.files import rows
from planner.inputs import presets
from planner.logs.arguments import Argument
from planner.logs.clean import places
from planner.units import GB, GIB

REACH = 1000  # characters after a line's first words in which its figures must stand
MOST = 2000  # places looked at for one kind of line

WORDS = {  # figures that are words, and how far such a word may reach
    "version": r"[\w.+-]{1,40}",
    "model": r"(?!-)[^\s'\",]{1,200}?(?=[\s'\",]|\.\.\.|$)",
    "dtype": r"[A-Za-z0-9_]{1,20}",
    "quantization": r"[\w.-]{1,40}",
    "cache_dtype": r"[A-Za-z][\w.]{1,30}",
    "cache_k": r"[A-Za-z][\w.]{0,30}",
    "cache_v": r"[A-Za-z][\w.]{0,30}",
    "flash": r"\w{1,10}",
    "unified": r"\w{1,10}",
    "overridden": r"\w{1,20}",
    "dialect": r"\w{1,20}",
    "device": r"(?!\w{0,20}Host|CPU)[A-Za-z]\w{0,20}(?:\[[\w.:]{1,40}\])?",
    "device_name": r"[^\n\"]{1,80}?",
    "model_file": r"[^\n\"']{1,300}?",
    "first_engine": "V0",
    "refused": r"[Nn]ot?",
    "model_line": r"[^\s|\"][^\n\"]{0,120}",
    "dtype_line": r"[^\s|][^\n]{0,60}",
    **dict.fromkeys(("state_type", "states_type"), r"(?:float32|float16|bfloat16)"),
    "drafting": r"\w{1,40}",
    "draft_model": r"[^\s'\",]{1,200}",
    **dict.fromkeys(("expert_parallel_on", "data_attention", "eager"), r"True|False"),
    **dict.fromkeys(("prefix_caching", "chunked_prefill", "lora_on", "cpu_moe"), r"True|False"),
}
# A number that goes on in the next line, or whose end was cut off, is none.
NUMBER = r"(?:-?\d{1,3}(?:,\d{3}){1,4}|-?\d{1,13}(?:\.\d{1,20})?)(?!\d|,\d)"
COUNT = r"(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,13})(?!\d|,\d)"
SIZE = r"\d{1,9}(?:\.\d{1,3})? ?[KMGT]?i?B"
UNITS = {"_gib": 1.0, "_mib": 1 / 1024, "_mb": 10**6 / GIB, "_gb": GB / GIB, "_bytes": 1 / GIB}
SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
COUNTED = {"": 1, "k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30}
WHOLE = (
    "tokens",
    "blocks",
    "parallel",
    "len",
    "sequences",
    "layers",
    "slots",
    "drafted",
    "loras",
    "rank",
    "held",
)


class Template(NamedTuple):
    """A kind of line: whose, which of several to take, its first words and its pattern."""

    engine: str
    take: str
    first: str
    pattern: re.Pattern


class Hit(NamedTuple):
    """One figure at one place of a log."""

    name: str
    value: object
    place: int


def _compile(template):
    """The fixed first words of a line of presets/log_lines.csv, and its pattern.

    <name> is a figure; ~ any space or none; ≈ an equals sign, a colon or a bracket; … anything in
    the line.
    """
    first = re.split(r"[<~≈…]", template, maxsplit=1)[0]
    pattern = ""
    for part in re.findall(r"<\w+>|[~≈… ]|[^<~≈… ]+", template):
        if part.startswith("<"):
            name = part[1:-1]
            pattern += f"(?P<{name}>{_kind(name)})"
        else:
            pattern += {
                "~": r"\s{0,40}",
                "≈": r"['\"]?\s{0,40}(?:[=:(]\s{0,8}|\s)['\"]?",
                "…": r"[^\n]{0,400}?",
                " ": r"\s{1,20}",
            }.get(part) or re.escape(part)
    return first, re.compile(pattern, re.MULTILINE)


def _kind(name):
    if name in WORDS:
        return WORDS[name]
    if name.endswith("_size"):
        return SIZE
    return COUNT if name.endswith(WHOLE) else NUMBER


TABLE = tuple(Template(row.engine, row.take, *_compile(row.line)) for row in presets.log_lines())


def hits(text: str, template: Template) -> list[list[Hit]]:
    """The figures of one kind of line, place by place."""
    found = []
    # “tensor_parallel_size=” is not what “draft_tensor_parallel_size=” says.
    part = template.first[0].isalnum() and template.engine == "any"
    for place in places(text, template.first, MOST):
        inside = part and place and (text[place - 1].isalnum() or text[place - 1] == "_")
        match = None if inside else template.pattern.match(text, place, place + REACH)
        if match:
            found.append([Hit(*value_of(*each), place) for each in match.groupdict().items()])
    return found


def value_of(name: str, raw: str) -> tuple[str, object]:
    """A figure's name and value: sizes become GiB, counts whole numbers, words stay words."""
    if name in WORDS:
        return name.removesuffix("_line"), raw.strip()
    if name.endswith("_size"):
        number, unit = re.fullmatch(r"([\d.]+) ?(\w+)", raw).groups()
        return name.removesuffix("_size") + "_gib", float(number) * SIZES[unit] / GIB
    number = float(raw.replace(",", ""))
    for unit, factor in UNITS.items():
        if name.endswith(unit) and name != "token_bytes":
            return name.removesuffix(unit) + "_gib", number * factor
    if name.endswith(WHOLE):
        return name, int(number)
    return name, number


# --- arguments ------------------------------------------------------------------------------------


def _names() -> Mapping[tuple[str, str], str]:
    """The figure of every argument of presets/log_arguments.csv, by engine and name."""
    return {
        (row["engine"], name): row["figure"]
        for row in rows("log_arguments.csv")
        for name in row["names"].split()
    }


NAMES = _names()
ENGINES = (
    "vllm",
    "sglang",
    "tensorrt-llm",
    "llama.cpp",
    "atom",
)  # whose flags are long enough to be told alone


def argument_hits(argument: Argument) -> list[tuple[str, Hit]]:
    """What an argument says, and to which engine; of a flag alone, to all that know it."""
    engines = [argument.engine] if argument.engine else [*ENGINES]
    found = [(engine, _argument_hit(argument._replace(engine=engine))) for engine in engines]
    return [(engine, hit) for engine, hit in found if hit]


def _argument_hit(argument: Argument) -> Hit | None:
    """What an argument says; None where it is none that counts, or leaves its figure to the engine.

    The settings that vLLM prints once they are resolved say by `quantization=None` that there is
    none; in a list of arguments it means that nobody said.
    """
    figure = NAMES.get((argument.engine, argument.name))
    said = argument.value.strip()
    if argument.kind == "config" and (argument.name, said) == ("speculative_config", "None"):
        return Hit("drafting", "none", argument.place)
    unset = said in ("None", "auto", "null", "") and figure not in ("cache_dtype",)
    unset = unset and not (figure == "quantization" and argument.kind == "config")
    if not figure or unset or (said == "None" and figure == "cache_dtype"):
        return None
    if figure in WORDS:
        match = re.match(WORDS[figure], said.removeprefix("torch."))
        return Hit(figure, match[0], argument.place) if match else None
    if figure.endswith("_bytes") and not said.isdigit():
        match = re.fullmatch(rf"(\d+(?:\.\d+)?) ?({'|'.join(SIZES)}|[kKmMgG])", said)
        factor = SIZES.get(match[2]) or COUNTED[match[2]] if match else 0
        name = figure.removesuffix("_bytes") + "_gib"
        return Hit(name, float(match[1]) * factor / GIB, argument.place) if match else None
    match = re.fullmatch(r"(\d{1,13}(?:\.\d{1,20})?)([kKmMgG]?)", said)
    if not match:
        return None
    number = float(match[1]) * COUNTED[match[2]]
    return Hit(*value_of(figure, f"{number:.20g}"), argument.place) if number else None
