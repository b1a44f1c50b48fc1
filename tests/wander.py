"""Visitors who try everything: tabs in Streamlit's own protocol that hypothesis drives about.

A `Tab` does what a browser tab can: move whatever is on the page, open and close, paste, change
page, go back, open a link. After each step the script must have ended, with no error on the page.
tests/test_wander.py takes a few steps; as many as one likes, by hand, with the app it starts:

    python tests/wander.py 5000
"""

import contextlib
import json
import sys
import time
from itertools import count
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect

sys.path.insert(0, str(Path(__file__).parent.parent))
from planner.inputs import choices, presets
from planner.pages import failed
from tests import browser
from tests.test_scenario import BAD_LINKS

PATIENCE_S = 60
DATA = Path(__file__).parent / "data"
LINKS = ["", *(each.query for each in presets.examples()), *(query for query, *_ in BAD_LINKS)]
PASTES = ["", "12", "x", "{", "0", "-1e9", "🜁\x00", "[[1]]", '{"model_type": "llama"}', "a" * 5000,
          *(path.read_text() for path in sorted(browser.ROOT.glob("presets/logs/*"))[:6]),
          *(path.read_text() for path in sorted(
              browser.ROOT.glob("planner/maintain/configs/Q*.json"))[:3])]  # fmt: skip


class Tab:
    """One session. widgets: what is on the page, by id; states: what was set there; query, page:
    where its address bar stands; said: what was done, for when something goes wrong.
    """

    def __init__(self, address: str, query: str = "", path: str = ""):
        where = f"{address.replace('http', 'ws', 1)}/_stcore/stream"
        self.held = contextlib.ExitStack()
        own = connect(where, subprotocols=["streamlit"], max_size=None, ping_interval=None)
        self.socket = self.held.enter_context(own)
        self.url = f"{address}/{path}"
        self.widgets, self.states, self.pages, self.past = {}, {}, {}, []
        self.query, self.page, self.said = query, "", [f"open ?{query[:200]}"]
        self.run()

    def close(self):
        self.held.close()

    def run(self, *triggers: WidgetState, going_back: bool = False):
        """Let the script run as the browser asks for it, and read all that it sends."""
        asked = BackMsg()
        state = asked.rerun_script
        state.query_string, state.page_script_hash = self.query, self.page
        state.is_history_navigation = going_back
        state.context_info.url = self.url
        kept = [each for id, each in self.states.items() if id in self.widgets]
        state.widget_states.widgets.extend([*kept, *triggers])
        self.socket.send(asked.SerializeToString())
        before, self.widgets = self.widgets, {}
        while True:
            message = ForwardMsg.FromString(self.socket.recv(timeout=PATIENCE_S))
            kind = message.WhichOneof("type")
            if kind == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    continue
                if message.script_finished == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY:
                    self.widgets = {**before, **self.widgets}
                return
            if kind == "delta":
                self._take(message.delta)
            elif kind == "navigation":
                self.pages = {
                    p.url_pathname: p.page_script_hash for p in message.navigation.app_pages
                }
                self.page = message.navigation.page_script_hash
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string

    def _take(self, delta):
        """What a part of the page is; an error on it is one here."""
        if delta.WhichOneof("type") == "add_block":
            if box := delta.add_block.expandable.id:
                self.widgets[box] = ("box", None)
            return
        kind = delta.new_element.WhichOneof("type")
        part = getattr(delta.new_element, kind)
        assert kind != "exception", (part, self.said)
        assert kind != "alert" or part.body != failed.SENTENCE, self.said
        if kind == "bidi_component":
            own = json.loads(part.json or "null")
            kind = part.component_name.removeprefix("planner_")
            if kind == "link":
                self.past.append((self.page, self.query))
                self.query = own["query"]
            part = own
            self.widgets[delta.new_element.bidi_component.id] = (kind, part)
        elif kind in NATIVE:
            self.widgets[part.id] = (kind, part)

    # --- what a hand can do ---

    def set(self, id, **value):
        self.states[id] = WidgetState(id=id, **value)

    def trigger(self, id, event, value):
        payload = json.dumps([{"event": event, "value": value}])
        self.run(WidgetState(id=_make_trigger_id(id, "events"), json_trigger_value=payload))

    def move(self, draw):
        """Do something to something that is on the page."""
        able = [id for id, (kind, _) in self.widgets.items() if kind in MOVES]
        if not able:
            return
        id = draw(st.sampled_from(able))
        kind, part = self.widgets[id]
        self.said.append(f"{kind} {id[-60:]}")
        MOVES[kind](self, id, part, draw)

    def turn(self, name):
        """Change page, as a click on its name does: what was set on the other is left there."""
        self.said.append(f"page {name}")
        self.past.append((self.page, self.query))
        self.page, self.query = self.pages[name], ""
        self.url = f"{self.url.rpartition('/')[0]}/{name}"
        self.run()

    def back(self):
        """The Back key."""
        if self.past:
            self.said.append("back")
            self.page, self.query = self.past.pop()
            self.run(going_back=True)


def _stamped(tab, id, text):
    tab.set(id, json_value=json.dumps({"value": f"{text}@{time.time_ns()}"}))
    tab.run()


def _slider(tab, id, data, draw):
    typed = st.floats(data["minimum"], data["maximum"])
    value = draw(st.sampled_from(data["stops"]) | typed)
    _stamped(tab, id, round(value) if data["whole"] else value)


def _picker(tab, id, data, draw):
    kind = data["address"].rpartition("/")[2]
    rows = draw(st.sampled_from(choices.choices(kind)))
    count = draw(st.sampled_from(["", "1", "2", "8", "64"])) if data["counted"] else ""
    _stamped(tab, id, f"{rows['id']}@{count}")


def _stage(tab, id, data, draw):
    able = data["film"]["base"]["ways"]
    if able and draw(st.booleans()):
        tab.trigger(id, "change", draw(st.sampled_from(able))["changes"])
    else:
        tab.trigger(id, "lacking", [])


def _link(tab, id, data, draw):
    event = draw(st.sampled_from(["lost", "theme"]))
    tab.trigger(id, event, draw(st.sampled_from(LINKS)) if event == "lost" else "#fff")


def _player(tab, id, data, draw):
    _stamped(tab, id, f"{data['parameter']}={draw(st.integers(0, data['steps']))}")


def _equation(tab, id, data, draw):
    able = [each for each in data["parts"] if each.get("stops")]
    if able:
        part = draw(st.sampled_from(able))
        _stamped(tab, id, f"{part['parameter']}={draw(st.sampled_from(part['stops']))['value']}")


def _box(tab, id, block, draw):
    tab.set(id, bool_value=draw(st.booleans()))
    tab.run()


def _check(tab, id, part, draw):
    tab.set(id, bool_value=draw(st.booleans()))
    tab.run()


def _button(tab, id, part, draw):
    tab.run(WidgetState(id=id, trigger_value=True))


def _one(tab, id, part, draw):
    if part.options:
        tab.set(id, string_value=draw(st.sampled_from(list(part.options))))
        tab.run()


def _some(tab, id, part, draw):
    names = [getattr(each, "content", each) for each in part.options]
    chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=4)) if names else []
    state = WidgetState(id=id)
    state.string_array_value.data.extend(chosen)
    tab.states[id] = state
    tab.run()


def _number(tab, id, part, draw):
    low, high = part.min if part.has_min else -1e6, part.max if part.has_max else 1e6
    value = draw(st.floats(low, high))
    tab.set(id, double_value=round(value) if part.step == 1 else value)
    tab.run()


def _text(tab, id, part, draw):
    tab.set(id, string_value=draw(st.sampled_from(PASTES) | st.text(max_size=40)))
    tab.run()


MOVES = {
    "slider": _slider,
    "picker": _picker,
    "stage": _stage,
    "link": _link,
    "player": _player,
    "equation": _equation,
    "box": _box,
    "checkbox": _check,
    "button": _button,
    "selectbox": _one,
    "radio": _one,
    "multiselect": _some,
    "button_group": _some,
    "number_input": _number,
    "text_input": _text,
    "text_area": _text,
}
NATIVE = {"checkbox", "button", "selectbox", "radio", "multiselect", "button_group",
          "number_input", "text_input", "text_area"}  # fmt: skip


def wandering(address: str):
    """A state machine of two tabs of the app at an address."""

    class Wandering(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.tabs = [Tab(address), Tab(address)]

        @rule(data=st.data(), which=st.integers(0, 1))
        def move(self, data, which):
            self.tabs[which].move(data.draw)

        @rule(data=st.data(), which=st.integers(0, 1))
        def move_again(self, data, which):
            self.tabs[which].move(data.draw)

        @rule(data=st.data(), which=st.integers(0, 1))
        def turn(self, data, which):
            tab = self.tabs[which]
            tab.turn(data.draw(st.sampled_from(sorted(tab.pages))))

        @rule(which=st.integers(0, 1))
        def back(self, which):
            self.tabs[which].back()

        @rule(which=st.integers(0, 1), query=st.sampled_from(LINKS))
        def open(self, which, query):
            self.tabs[which].close()
            self.tabs[which] = Tab(address, query)

        def teardown(self):
            for tab in self.tabs:
                with contextlib.suppress(OSError):
                    tab.close()

    return Wandering


def wander(address: str, runs: int, steps: int, **more):
    """So many walks of so many steps, from the start each; the first error ends them."""
    own = settings(
        max_examples=runs,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # the walk to an error is told as it was
        **more,
    )
    run_state_machine_as_test(wandering(address), settings=own)


if __name__ == "__main__":
    runs = count()
    plain = Tab.run
    Tab.run = lambda *given, **more: (plain(*given, **more), next(runs))[0]
    try:
        with browser.app() as started:
            wander(started, max(int(sys.argv[1]) // 50, 1), 50)
        print("no error")
    finally:
        print(f"{next(runs):,} runs of a script")
