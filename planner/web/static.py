"""Scripts that pages load, GET /files/<name>, under names that change with what is in them.

So a browser keeps them for ever, and no change on a page sends them again. A component is one
script, its markup and style within; Vega is made by vl-convert, once a server.
"""

import gzip
import hashlib
import json
import re
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from planner.reports import renderer

HERE = Path(__file__).parent
FOLDERS = HERE / "assets", HERE.parent / "pages" / "components"
FOR_EVER = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
VEGA = f"vega-{version('vl-convert-python')}.js"
NAMED = re.compile(r"([a-z_]+(?:\+[a-z_]+)*)-([0-9a-f]{12})\.js")

# Follows a component's script, which finds its markup and style where it is mounted.
MOUNT = """
const DRESS = {markup}
const dressed = new WeakSet()
export function mount(component, run) {{
  const place = component.parentElement
  if (!dressed.has(place)) place.append(document.createRange().createContextualFragment(DRESS))
  dressed.add(place)
  return run(component)
}}
"""


def address(*names: str) -> str:
    """Where a component's script is, below the app's own address.

    names: its name, behind those of the files that come before its own.
    """
    return f"files/{'+'.join(names)}-{_hash(names)}.js"


def vega() -> str:
    """Where the script is that draws charts, below the app's own address."""
    return f"files/{VEGA}"


@lru_cache(maxsize=64)
def file(name: str) -> bytes | None:
    """A file by the last part of its address, compressed; None where there is none of that name."""
    if name == VEGA:
        return gzip.compress(renderer.bundle())
    named = NAMED.fullmatch(name)
    names = tuple(named[1].split("+")) if named else ()
    if not all(_paths(each, "js") for each in names) or not named or _hash(names) != named[2]:
        return None
    return gzip.compress(_script(names).encode())


@cache
def _hash(names):
    return hashlib.sha256(_script(names).encode()).hexdigest()[:12]


def _script(names):
    script, style, markup = (
        "\n".join(path.read_text("utf-8") for name in names for path in _paths(name, kind))
        for kind in ("js", "css", "html")
    )
    return script + MOUNT.format(markup=json.dumps(f"{markup}<style>{style}</style>"))


def _paths(name, kind):
    return [path for folder in FOLDERS if (path := folder / f"{name}.{kind}").exists()]


def routes(at: str) -> list[Route]:
    """The route of these files below a path."""

    async def script(request: Request) -> Response:
        name = request.path_params["name"]
        packed = await to_thread.run_sync(file, name)
        if packed is None:
            return Response("There is no such file.", 404)
        headers = dict(FOR_EVER)
        if takes_gzip(request):
            headers["content-encoding"] = "gzip"
        else:
            packed = gzip.decompress(packed)
        return Response(packed, media_type="text/javascript", headers=headers)

    return [Route(f"{at}/files/{{name}}", script, methods=["GET"])]


def takes_gzip(request: Request) -> bool:
    """Whether whoever asks reads what is compressed."""
    return "gzip" in request.headers.get("accept-encoding", "")
