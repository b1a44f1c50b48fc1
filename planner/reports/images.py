"""Charts as pictures, SVG and PNG: alone, for a page, or framed by what they show and their link.

Drawing them takes vl-convert, in a process that starts when first needed.
"""

import io
import json
import struct
import textwrap
import zipfile
import zlib
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from planner import __version__
from planner.charts.picture import Picture, fixed
from planner.charts.style import MUTED
from planner.reports import renderer

WIDTH = 460  # of a plot, in pixels of the screen
CARD_WIDTH = 360
LINE, SMALL_LINE = 92, 118  # signs that fit in a line of the subtitle and of the footer
LINK_LINES = 3  # a longer link, as that of a pasted model, is in the file but not in sight
PADDING = 16
OUTSIDE = ("$schema", "config", "datasets")  # of a chart that becomes part of a larger one
HEADING = {
    "anchor": "start",
    "fontSize": 15,
    "subtitleColor": MUTED[False],
    "subtitlePadding": 4,
    "offset": 14,
}
AFTER_HEADER = 8 + 25  # of a PNG file: its signature and its first chunk
NAME = f"LLM capacity planner {__version__}"


class Origin(NamedTuple):
    """What a picture is of: its inputs in words, and the link that reopens it."""

    inputs: str
    link: str

    @property
    def signed(self) -> str:
        """The link, and the version that drew the picture."""
        return f"{self.link} · {NAME}"


def specification(picture: Picture) -> dict:
    """One chart with its data in it, as Vega-Lite; on paper, so light."""
    spec = _in_sight(fixed(picture.specification(dark=False), picture.parameters))
    data = {
        name: json.loads(frame.to_json(orient="records")) for name, frame in picture.frames.items()
    }
    return {**spec, "width": WIDTH, "datasets": {**spec.get("datasets", {}), **data}}


def _in_sight(spec):
    """A specification without marks that are there for the pointer only: they take long to draw."""
    layers = [_in_sight(each) for each in spec.get("layer", ()) if not _unseen(each)]
    return {**spec, "layer": layers} if layers else spec


def _unseen(layer):
    mark = layer.get("mark")
    return isinstance(mark, dict) and mark.get("opacity") == 0


def framed(picture: Picture, origin: Origin) -> dict:
    """One chart under its title and inputs and above its link, to stand by itself."""
    spec, outside = _apart(specification(picture))
    return {
        **outside,
        "title": _heading(picture.title, origin, LINE),
        "vconcat": [spec, _footer(origin)],
        "resolve": {"legend": {"color": "independent"}},
        "background": "white",
        "padding": PADDING,
    }


def _apart(spec):
    """A specification without what must stand outside of a larger one, and that."""
    inside = {key: part for key, part in spec.items() if key not in OUTSIDE}
    return inside, {key: spec[key] for key in OUTSIDE if key in spec}


def card(title: str, pictures: Sequence[Picture], origin: Origin) -> dict:
    """The first two charts of a page beside each other, as a chat shows a link."""
    views, outside, frames = [], {}, {}
    for place, picture in enumerate(pictures[:2]):
        spec, outside = _apart(specification(picture))
        # Two charts may call their frames alike, so each name gets its place before it.
        frames |= {f"{place}-{each}": rows for each, rows in outside["datasets"].items()}
        views.append({**_renamed(spec, f"{place}-"), "width": CARD_WIDTH, "title": picture.title})
    return {
        **outside,
        "datasets": frames,
        "title": _heading(title, origin, 2 * LINE),
        "hconcat": views,
        "spacing": 30,
        "resolve": {"legend": {"color": "independent"}, "scale": {"color": "independent"}},
        "background": "white",
        "padding": PADDING,
    }


def _heading(title, origin, signs):
    return {**HEADING, "text": title, "subtitle": textwrap.wrap(origin.inputs, signs)}


def _renamed(spec, before):
    """A specification whose named data have their names after `before`."""
    if isinstance(spec, dict):
        renamed = {key: _renamed(part, before) for key, part in spec.items()}
        data = renamed.get("data")
        return {**renamed, "data": {"name": before + data["name"]}} if data else renamed
    return [_renamed(part, before) for part in spec] if isinstance(spec, list) else spec


def _footer(origin):
    """The link in small print, where it is short enough to be typed off; always the version."""
    lines = textwrap.wrap(origin.signed, SMALL_LINE, break_on_hyphens=False)
    if len(lines) > LINK_LINES:
        lines = [NAME]
    style = {"align": "left", "baseline": "top", "fontSize": 8, "color": MUTED[False]}
    return {
        "data": {"values": [{}]},
        "mark": {"type": "text", **style},
        "encoding": {"text": {"value": lines}, "x": {"value": 0}, "y": {"value": 0}},
        "width": WIDTH,
        "height": 9 * len(lines),
        "view": {"stroke": None},
    }


def svg(spec: dict, comment: str = "") -> str:
    """A specification as SVG. comment: kept in the file, unseen."""
    made = renderer.drawn(spec, "svg").decode()
    return made.replace(">", f"><desc>{escape(comment)}</desc>", 1) if comment else made


def png(spec: dict, comment: str = "") -> bytes:
    """A specification as PNG, on white. comment: kept in the file, unseen."""
    made = renderer.drawn({"background": "white", **spec}, "png")
    text = _chunk(b"tEXt", b"Comment\0" + comment.encode("latin-1", "replace"))
    return made[:AFTER_HEADER] + text + made[AFTER_HEADER:]


def _chunk(kind, content):
    """A chunk of a PNG file (PNG specification, 5.3)."""
    crc = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc)


def archive(pictures: Sequence[Picture], origin: Origin) -> bytes:
    """A ZIP file with every chart of a page, by its id, as SVG and as PNG, and their link."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr("link.txt", f"{origin.inputs}\n{origin.link}\n{NAME}\n")
        for picture in pictures:
            spec = framed(picture, origin)
            files.writestr(f"{picture.id}.svg", svg(spec, origin.signed))
            files.writestr(f"{picture.id}.png", png(spec, origin.signed))
    return packed.getvalue()
