"""Films over HTTP, GET /film?<a plan's query>&slider=context&part=3."""

import threading
from contextlib import asynccontextmanager
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from planner.inputs.strict import read_query
from planner.stage.film import FILMS
from planner.web import static
from planner.web.api import Line

KEPT = {"cache-control": "private, max-age=600"}  # a film changes with the version only
FILMS_WAITING = 256  # in line, a few classes; whoever comes after has the page without a film


@asynccontextmanager
async def warmed(_app):
    """While the server lives. Vega is made as it starts, so that no visitor waits for it."""
    threading.Thread(target=static.file, args=(static.VEGA,), daemon=True).start()
    yield


def routes(base: str = "") -> list[Route]:
    """The routes below a base path, for Streamlit's server or any other Starlette application."""
    at = f"/{base.strip('/')}" if base.strip("/") else ""
    films = Line(FILMS_WAITING, at_once=1)  # as scripts are: they share one interpreter

    async def shown(request: Request) -> Response:
        if not static.takes_gzip(request):
            return Response("A film is sent compressed.", 406)
        return await films.answered(request, _film, dict(request.query_params))

    return [*static.routes(at), Route(f"{at}/film", shown, methods=["GET"])]


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
