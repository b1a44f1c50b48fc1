"""A model in one word that a link can carry, and back.

    m1~32q32k8d128~p8030261248.e525336576.h525336576.c131072.tfp8~Llama-3.1-8B

Three parts stand between the tildes after `m1`: groups of layers joined by `_`, each a number of
layers and then a letter and a number for every width; the model's own numbers joined by dots; the
name. What has its default is left out. Only letters, digits and - . _ ~ occur, so that the word
stands in an address as it is. Once written it keeps its meaning: a letter is never used anew.
"""

import re
from dataclasses import MISSING, fields
from functools import lru_cache

from planner.models.model import MAX_GROUPS, LayerGroup, Model

PREFIX = "m1~"
MAX_TEXT = 4_000

GROUP_LETTERS = {
    "q": "query_heads",
    "k": "kv_heads",
    "d": "key_dim",
    "v": "value_dim",
    "w": "window",
    "r": "stride",
    "s": "state_bytes",
    "x": "index_bytes",
    "a": "query_dim",
    "o": "output_dim",
    "t": "top_k",
    "c": "conv_bytes",
    "b": "state_width",
}
MODEL_LETTERS = {
    "p": "parameters",
    "e": "embedding_parameters",
    "h": "head_parameters",
    "i": "vision_parameters",
    "x": "expert_parameters",
    "g": "host_parameters",
    "n": "experts",
    "k": "experts_per_token",
    "l": "draft_layers",
    "d": "width",
    "w": "expert_width",
    "c": "max_context",
    "b": "file_bytes",
    "t": "dtype",
}
_DEFAULTS = {
    kind: {f.name: f.default for f in fields(kind) if f.default is not MISSING}
    for kind in (LayerGroup, Model)
}


def model_to_text(model: Model) -> str:
    """The word for a model. Its id and source stay behind; everything else is in it."""
    groups = "_".join(_group_text(group) for group in model.groups)
    numbers = ".".join(
        f"{letter}{_plain(getattr(model, name))}"
        for letter, name in MODEL_LETTERS.items()
        if getattr(model, name) != _DEFAULTS[Model].get(name)
    )
    return f"{PREFIX}{groups}~{numbers}~{_escape(model.name)}"


@lru_cache(maxsize=256)
def model_from_text(text: str) -> Model:
    """The model that a word states; its id is the word. ValueError, a plain sentence, if none."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"a model's notation has at most {MAX_TEXT:,} characters")
    if not text.startswith(PREFIX):
        raise ValueError(f"a model's notation starts with {PREFIX}")
    parts = text.removeprefix(PREFIX).split("~", 2)
    if len(parts) < 3:
        raise ValueError("a model's notation has three parts: layers, numbers and a name")
    groups = parts[0].split("_")
    if len(groups) > MAX_GROUPS:
        raise ValueError(f"a model has 1 to {MAX_GROUPS} groups of layers")
    numbers = {}
    for field in parts[1].split("."):
        name = MODEL_LETTERS.get(field[:1])
        if name is None or name in numbers:
            raise ValueError(
                f"“{shorten(field)}” is not one of a model's numbers, or is there twice"
            )
        numbers[name] = field[1:] if name == "dtype" else _number(field[1:])
    if "parameters" not in numbers:
        raise ValueError("the number of parameters (p) is missing")
    return Model(
        id=text,
        name=_unescape(parts[2]),
        groups=tuple(_group(group) for group in groups),
        **numbers,
    )


def _group_text(group):
    stored = {"value_dim": group.key_dim, "query_dim": group.key_dim, "output_dim": group.value_dim}
    default = {**_DEFAULTS[LayerGroup], "kv_heads": 0, "query_heads": 0, "key_dim": 0, **stored}
    widths = [
        f"{letter}{_plain(getattr(group, name))}"
        for letter, name in GROUP_LETTERS.items()
        if getattr(group, name) != default[name]
    ]
    return _plain(group.layers) + "".join(widths)


def _group(text):
    if not re.fullmatch(r"[0-9]+([a-z][0-9]+)*", text):
        raise ValueError(f"“{shorten(text)}” is not a group of layers such as 32q32k8d128")
    layers, *pairs = re.findall(r"[a-z]?[0-9]+", text)
    widths = {"query_heads": 0, "kv_heads": 0, "key_dim": 0}
    seen = set()
    for pair in pairs:
        name = GROUP_LETTERS.get(pair[0])
        if name is None or name in seen:
            raise ValueError(f"“{shorten(pair)}” is not a width of a layer, or is there twice")
        seen.add(name)
        widths[name] = _number(pair[1:])
    widths.setdefault("value_dim", widths["key_dim"])
    return LayerGroup(layers=_number(layers), **widths)


def _number(text):
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ValueError(f"“{shorten(text)}” is not a whole number of at most 18 digits")
    return int(text)


def _plain(value):
    return value if isinstance(value, str) else str(int(value))


def _escape(name):
    """Letters, digits, - and . as they are, a space as _, all else as ~ and two hex digits."""
    kept = (
        chr(byte) if re.match(rb"[A-Za-z0-9.-]", bytes([byte])) else f"~{byte:02x}"
        for byte in name.encode()
    )
    return "".join(kept).replace("~20", "_")


def _unescape(text):
    if not re.fullmatch(r"([A-Za-z0-9._-]|~[0-9a-f]{2})*", text):
        raise ValueError("the model's name holds signs that are not allowed in a link")
    plain = re.sub(r"~(..)", lambda found: chr(int(found[1], 16)), text.replace("_", "~20"))
    try:
        return plain.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise ValueError("the model's name is not readable text") from None


def shorten(text: str, most: int = 40) -> str:
    """A text from outside, short enough not to flood the page, unprintable signs replaced."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(sign if sign.isprintable() else "�" for sign in cut)
