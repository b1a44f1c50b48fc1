"""A trace in a link, in the terminal, and on the page."""

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from urllib.parse import urlencode

import pytest

from planner.__main__ import main
from planner.sizing import from_trace, query
from planner.sizing.traces import read_trace

SAMPLES = Path(__file__).parent / "data" / "traces"
ALL = sorted(each.name for each in SAMPLES.iterdir() if each.suffix != ".md")


def in_terminal(*arguments):
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(list(map(str, arguments)))
    return status, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("name", ALL)
def test_a_trace_travels_in_a_link_as_its_summary(name):
    said = read_trace(SAMPLES / name).summary()
    ask, notices = query.decode(urlencode(from_trace.values(said)))
    assert notices == ()
    load = ask.the_workload
    assert load.rate == pytest.approx(said.rate, rel=1e-3)
    assert load.prompt.mean == pytest.approx(said.prompt[2], abs=0.5)
    assert load.output.p95 == pytest.approx(said.output[1], abs=0.5)
    assert load.burst == pytest.approx(max(said.burst, 1), rel=1e-3)
    assert load.hit_rate * load.prefix == pytest.approx(said.reused * said.reused_tokens, rel=0.01)


def test_what_a_link_says_counts_before_its_trace():
    said = read_trace(SAMPLES / ALL[0]).summary()
    given = {"users": "50", "output": "7", "model": "llama-3.1-8b"}
    ask, notices = query.decode(urlencode(from_trace.beside(said, given)))
    assert notices == ()
    assert (ask.users, ask.rate, ask.output, ask.output_p95 >= 7) == (50, 0, 7, True)
    assert ask.prompt == round(said.prompt[0])


def test_a_trace_in_the_terminal(tmp_path):
    own = "device=h100-sxm&engine=vllm-0.34&weights=fp16&cache=fp16&tp=1&most=1"
    trace = SAMPLES / "azure_2023_conversation.csv"
    status, out, err = in_terminal("size", own, "--trace", trace)
    assert status == 0
    assert err == "300 requests of a trace (Azure), 84.0 s long.\n"
    values = from_trace.values(read_trace(trace).summary())
    same = in_terminal("size", f"{own}&{urlencode(values)}")
    assert (status, out) == same[:2]

    broken = tmp_path / "broken.csv"
    broken.write_text(trace.read_text() + "2023-11-16,oops,5\n")
    assert in_terminal("size", own, "--trace", broken)[2].splitlines()[1:] == [
        "1 malformed row left out:",
        "line 302: ContextTokens: “oops” is not a whole number from 1 on",
    ]
    broken.write_text("a,b")
    status, out, err = in_terminal("size", own, "--trace", broken)
    assert (status, out) == (2, "")
    assert "of no known trace" in err
    status, _, err = in_terminal("size", own, "--trace", tmp_path / "none")
    assert status == 2
    assert "No such file" in err
