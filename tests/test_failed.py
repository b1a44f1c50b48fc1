"""A page whose script fails: a sentence and the way back, no traceback for the visitor."""

import asyncio
import json

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

from planner.pages import failed
from tests import browser

# A page that counts, writes its address as the pages do, and fails where its link says so.
SCRIPT = f"""import sys
sys.path.insert(0, {str(browser.ROOT)!r})
import streamlit as st
from planner.pages import failed
if __name__ == "__main__":
    failed.written("http://plan.example/?n=" + st.query_params["n"])
    with st.sidebar:
        if st.query_params["n"] == "2":
            raise RuntimeError("the reason is told to nobody")
    failed.ended()
else:
    app = st.App(__file__, on_script_error=failed.show)
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    script = tmp_path_factory.mktemp("failing") / "app.py"
    script.write_text(SCRIPT)
    with browser.app(script=script) as address:
        yield address


def run(address, *queries):
    """What one session shows after each of some queries: the elements of each run."""

    async def runs():
        where = f"{address.replace('http', 'ws', 1)}/_stcore/stream"
        async with connect(where, subprotocols=["streamlit"], max_size=None) as socket:
            for query in queries:
                asked = BackMsg()
                asked.rerun_script.query_string = query
                await socket.send(asked.SerializeToString())
                yield [each async for each in elements(socket)]

    async def all_():
        return [each async for each in runs()]

    return asyncio.run(asyncio.wait_for(all_(), 30))


async def elements(socket):
    """What a run puts on the page, until it has finished."""
    while True:
        message = ForwardMsg.FromString(await socket.recv())
        if message.WhichOneof("type") == "script_finished":
            return
        if message.WhichOneof("type") == "delta" and message.delta.HasField("new_element"):
            yield message.delta.new_element


def test_a_failed_run_says_so_and_leads_back(failing):
    good, bad = run(failing, "n=1", "n=2")
    assert good == []
    said, back = bad
    assert said.alert.body == failed.SENTENCE
    assert 'href="http://plan.example/?n=1" target="_self"' in back.html.body
    assert "the reason" not in json.dumps([str(each) for each in bad])


def test_where_nothing_was_good_yet_there_is_a_new_start(failing):
    ((said, back),) = run(failing, "n=2")
    assert said.alert.body == failed.SENTENCE
    assert back.html.body == '<p><a href="." target="_self">Start anew</a></p>'


def test_the_app_has_it():
    import app

    assert app.app._on_script_error is failed.show
