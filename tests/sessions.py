"""Visitors without a browser: sessions in Streamlit's own websocket protocol, for tests/load.py.

A visitor loads the page, opens the websocket, runs the script, and from then on does what the
browser does when a hand moves one slider and rests: fetches the films it needs, sends the new
value, reads until the script has finished, and holds the answer against what was asked.
"""

import asyncio
import json
import random
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode

import httpx2
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import connect

from planner.stage.film import STOPS_A_FILM
from planner.stage.stops import STOPS

PATIENCE_S = 30  # a change not answered by then counts as lost
PATH = "/?v=1&model=lesson-7b-gqa&concurrency={}&context=8192"
AFAR = 8  # stops of the slider, the most that a hand moves it at a time
BAREST = """import streamlit as st
st.write(st.slider("n", 0, 1000, 500, key="n"))
"""


@dataclass(eq=False)
class Visitor:
    """One session. own: its number, by which its hand moves; plan: which plan it has opened.

    times: seconds that each change took until the script had finished and its answer was here;
    lost: changes without their answer; sizes: bytes of each; film_times: seconds of each film;
    refused: films that the server was too busy for.
    """

    address: str
    own: int
    times: list[float] = field(default_factory=list)
    lost: int = 0
    sizes: list[int] = field(default_factory=list)
    film_times: list[float] = field(default_factory=list)
    refused: int = 0
    plan: int = 0
    path = PATH

    def __post_init__(self):
        self.random = random.Random(self.own)
        self.at = self.random.randrange(len(STOPS["context"]))
        self.path = self.path.format(1 + self.plan)
        self.slider, self.films = None, set()
        self.http = httpx2.AsyncClient(base_url=self.address, timeout=PATIENCE_S)

    async def open(self):
        """Load the page and run its script for the first time; seconds until it has finished."""
        start = time.perf_counter()
        (await self.http.get(self.path)).raise_for_status()
        cookies = "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())
        self.socket = await connect(
            f"{self.address.replace('http', 'ws', 1)}/_stcore/stream",
            subprotocols=["streamlit"],
            additional_headers={"cookie": cookies} if cookies else {},
            max_size=None,
            ping_interval=None,
        )
        self.context = BackMsg()
        state = self.context.rerun_script
        state.page_name = self.path.partition("?")[0].strip("/")
        state.query_string = self.path.partition("?")[2]
        state.context_info.url = self.address + self.path
        state.context_info.color_scheme = "light"
        await self.socket.send(self.context.SerializeToString())
        await asyncio.wait_for(self._finished(), PATIENCE_S)
        return time.perf_counter() - start

    async def close(self):
        await self.socket.close()
        await self.http.aclose()

    async def change(self):
        """Move the slider, rest, and await the answer."""
        value, given = self._moved()
        films = asyncio.create_task(self._film())
        message = BackMsg()
        message.CopyFrom(self.context)
        message.rerun_script.widget_states.widgets.append(given)
        start = time.perf_counter()
        await self.socket.send(message.SerializeToString())
        try:
            answers, size = await asyncio.wait_for(self._finished(), PATIENCE_S)
            self.times.append(time.perf_counter() - start)  # a page does not wait for its film
        except TimeoutError:
            self.lost += 1
            return
        finally:
            await films
        self.sizes.append(size)
        self.lost += value not in answers

    def _moved(self):
        stops = STOPS["context"]
        step = self.random.choice([-1, 1]) * self.random.randint(1, AFAR)
        self.at = abs(self.at + step) % len(stops)
        value = stops[self.at]
        text = json.dumps({"value": f"{value}@{time.time_ns()}"})
        return value, WidgetState(id=self.slider, json_value=text)

    async def _film(self):
        """Fetch the film for where the hand is, and the next one if that is near, but once."""
        size, last = STOPS_A_FILM, len(STOPS["context"]) - 1
        for at in (self.at, self.at - size // 4, self.at + size // 4):
            part = min(max(at, 0), last) // size
            if part in self.films:
                continue
            self.films.add(part)
            query = {name: each[0] for name, each in parse_qs(self.path.partition("?")[2]).items()}
            query |= {"slider": "context", "part": str(part)}
            start = time.perf_counter()
            answer = await self.http.get(f"/film?{urlencode(query)}")
            self.film_times.append(time.perf_counter() - start)
            if answer.status_code >= 500:  # too busy: the page goes on without, and asks again
                self.films.discard(part)
                self.refused += 1

    async def _finished(self):
        """Read until the script has finished: the values that the slider had, and all bytes."""
        answers, size = [], 0
        while True:
            raw = await self.socket.recv()
            size += len(raw)
            message = ForwardMsg.FromString(raw)
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                answers.extend(self._answers(message.delta.new_element))
            elif kind == "new_session":
                self.context.rerun_script.page_script_hash = message.new_session.page_script_hash
            elif kind == "script_finished":
                return answers, size

    def _answers(self, element):
        if element.WhichOneof("type") != "bidi_component":
            return
        shown = element.bidi_component
        if shown.component_name != "planner_slider":
            return
        data = json.loads(shown.json)
        if data["name"] == "slider-context":
            self.slider = shown.id
            yield data["value"]


class Barest(Visitor):
    """A visitor of the least that Streamlit can serve: a slider and its number as text."""

    path = "/"

    def _moved(self):
        self.at = (self.at + self.random.randint(1, 500)) % 1000
        state = WidgetState(id=self.slider)
        state.double_array_value.data.append(self.at)
        return self.at, state

    async def _film(self):
        """There is none."""

    def _answers(self, element):
        kind = element.WhichOneof("type")
        if kind == "slider":
            self.slider = element.slider.id
        elif kind == "markdown":
            yield int(element.markdown.body.strip("`"))


class Guesser(Visitor):
    """A student whose phone has the link of a room's question, and who guesses once."""

    path = "/cost?ask=load&room=calm-otter-41"

    def __post_init__(self):
        super().__post_init__()
        self.entry, self.send, self.said = None, None, []

    async def guess(self):
        """Send the guess; seconds until the page has taken it."""
        message = BackMsg()
        message.CopyFrom(self.context)
        number = str(1 + self.own)
        message.rerun_script.widget_states.widgets.extend(
            [
                WidgetState(id=self.entry, string_value=number),
                WidgetState(id=self.send, trigger_value=True),
            ]
        )
        start = time.perf_counter()
        await self.socket.send(message.SerializeToString())
        await asyncio.wait_for(self._finished(), PATIENCE_S)
        return time.perf_counter() - start

    def _answers(self, element):
        kind = element.WhichOneof("type")
        if kind == "text_input":
            self.entry = element.text_input.id
        elif kind == "button" and element.button.is_form_submitter:
            self.send = element.button.id
        elif kind == "html":
            self.said.append(element.html.body)
        return ()


class Presenter(Guesser):
    """The one who shows the room how many have guessed."""

    path = f"{Guesser.path}&present=1"
