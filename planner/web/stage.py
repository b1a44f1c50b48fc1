"""The stage's files and films over HTTP.

Files have names that change with what is in them, so that a browser keeps them for ever; Vega is
made by vl-convert, once a server.
"""

import gzip
import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from planner.reports import renderer

HERE = Path(__file__).parent / "assets"
KINDS = {"js": "text/javascript", "css": "text/css"}
FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}
VEGA = f"vega-{version('vl-convert-python')}.js"


@cache
def addresses() -> dict[str, str]:
    """Where the stage's files are, below the app's own address."""
    return {"stage": _named("stage.js"), "css": _named("stage.css"), "vega": f"stage/{VEGA}"}


def _named(name):
    stem, _, kind = name.partition(".")
    return f"stage/{stem}-{hashlib.sha256((HERE / name).read_bytes()).hexdigest()[:12]}.{kind}"


@cache
def file(name: str) -> bytes | None:
    """A file of the stage, compressed; None where there is none of that name."""
    if name == VEGA:
        return gzip.compress(renderer.bundle())
    for address in addresses().values():
        if address == f"stage/{name}":
            stem, _, rest = name.rpartition("-")
            return gzip.compress((HERE / f"{stem}.{rest.partition('.')[2]}").read_bytes())
    return None


def routes(base: str = "") -> list[Route]:
    """The routes below a base path, for Streamlit's server or any other Starlette application."""
    at = f"/{base.strip('/')}" if base.strip("/") else ""

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        packed = await to_thread.run_sync(file, name)
        if packed is None:
            return Response("There is no such file.", 404)
        headers = {**FOR_EVER, "vary": "accept-encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
        else:
            packed = gzip.decompress(packed)
        return Response(packed, media_type=KINDS[name.rpartition(".")[2]], headers=headers)

    return [Route(f"{at}/stage/{{name}}", asset, methods=["GET"])]
