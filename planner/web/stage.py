"""The stage's files and films over HTTP, GET /film?<a plan's query>&slider=context&part=3.

Files have names that change with what is in them, so that a browser keeps them for ever; Vega is
made by vl-convert, once a server.
"""

import gzip
import hashlib
import threading
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlencode

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from planner.inputs.strict import read_query
from planner.reports import renderer
from planner.stage.film import FILMS
from planner.web.api import Line

HERE = Path(__file__).parent / "assets"
KINDS = {"js": "text/javascript", "css": "text/css"}
FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}
KEPT = {"cache-control": "private, max-age=600"}  # a film changes with the version only
FILMS_WAITING = 256  # in line, a few classes; whoever comes after has the page without a film
VEGA = f"vega-{version('vl-convert-python')}.js"


@cache
def addresses() -> dict[str, str]:
    """Where the stage's files are, below the app's own address."""
    return {
        "stage": _named("stage.js"),
        "css": _named("stage.css"),
        "vega": f"stage/{VEGA}",
        "film": "film",
    }


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


@asynccontextmanager
async def warmed(_app):
    """While the server lives. Vega is made as it starts, so that no visitor waits for it."""
    threading.Thread(target=file, args=(VEGA,), daemon=True).start()
    yield


def routes(base: str = "") -> list[Route]:
    """The routes below a base path, for Streamlit's server or any other Starlette application."""
    at = f"/{base.strip('/')}" if base.strip("/") else ""
    films = Line(FILMS_WAITING)

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        packed = await to_thread.run_sync(file, name)
        if packed is None:
            return Response("There is no such file.", 404)
        headers = {**FOR_EVER, "vary": "accept-encoding"}
        if _takes_gzip(request):
            headers["content-encoding"] = "gzip"
        else:
            packed = gzip.decompress(packed)
        return Response(packed, media_type=KINDS[name.rpartition(".")[2]], headers=headers)

    async def shown(request: Request) -> Response:
        if not _takes_gzip(request):
            return Response("A film is sent compressed.", 406)
        return await films.answered(request, _film, dict(request.query_params))

    return [
        Route(f"{at}/stage/{{name}}", asset, methods=["GET"]),
        Route(f"{at}/film", shown, methods=["GET"]),
    ]


def _film(given) -> Response:
    """A film, or in a sentence why there is none. A question's link has none: it is rejected."""
    slider, part = given.pop("slider", ""), given.pop("part", "")
    read = read_query(urlencode(given))
    if read.problems:
        return Response(" ".join(text for _, text in read.problems), 400)
    try:
        film = FILMS.of(read.found, slider, int(part))
    except ValueError as problem:
        return Response(str(problem), 400)
    headers = {**KEPT, "content-encoding": "gzip", "vary": "accept-encoding"}
    return Response(film, media_type="application/json", headers=headers)


def _takes_gzip(request):
    return "gzip" in request.headers.get("accept-encoding", "")
