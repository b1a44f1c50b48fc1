"""The terminal: what it prints, what it refuses, how it ends."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from planner import Scenario, __version__, evaluate, plan
from planner.__main__ import main, run
from planner.inputs import presets
from planner.inputs.strict import read_json, read_link
from planner.reports import comparison_report
from tests.browser import ROOT
from tests.test_comparison import BAD_LINKS as BAD_COMPARISONS
from tests.test_comparison import LESSON, LESSON_LINK
from tests.test_comparison_report import as_markdown
from tests.test_scenario import BAD_LINKS

CONFIG = ROOT / "planner" / "maintain" / "configs"
LOG = ROOT / "presets" / "logs"


def ran(capsys, *arguments):
    status = main(list(arguments))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_it_fits_and_says_so(capsys):
    status, out, err = ran(capsys, "model=lesson-7b-gqa&concurrency=16&context=8192")
    assert (status, err) == (0, "")
    assert out.startswith("Fits, with 48.8 GB to spare.")
    assert "31.2 ms" in out


def test_it_does_not_fit(capsys):
    pinned = "present=1&pins=v%3D1%26a%3Dmodel%253Dllama-3.1-8b"
    status, out, _ = ran(capsys, f"http://localhost:8501/?model=lesson-7b-mha&memory=40&{pinned}")
    assert status == 1
    assert out.startswith("Does not fit")


def test_with_an_engine_the_status_is_the_engines(capsys):
    query = "model=lesson-7b-gqa&concurrency=58&engine="
    assert ran(capsys, query + "ideal")[0] == 0
    status, out, _ = ran(capsys, query + "vllm", "--json")
    found = json.loads(out)
    assert (status, found["fits"], found["fits_ideal"]) == (1, False, True)


@pytest.mark.parametrize("query", [query for query, _, _ in BAD_LINKS], ids=lambda q: q[:40])
def test_bad_input_is_named_and_nothing_else_is_printed(capsys, query):
    status, out, err = ran(capsys, query)
    assert (status, out) == (2, "")
    assert err.strip()
    assert "used instead" not in err


def test_every_problem_is_named(capsys):
    _, _, err = ran(capsys, "context=9&concurrency=x&model=nope&fits=1")
    assert [line.split(":")[0] for line in sorted(err.splitlines())] == [
        "Not a parameter of this page",
        "concurrency",
        "context",
        "model",
    ]


def test_a_config_and_a_link_together(capsys, monkeypatch):
    path = CONFIG / "meta-llama__Llama-3.1-8B.json"
    status, out, _ = ran(capsys, "context=4096&device=h100-sxm", "--config", str(path), "--json")
    found = json.loads(out)
    assert status == 0
    assert found["context_tokens"] == 4096
    own = plan(Scenario(model="llama-3.1-8b", context=4096, device="h100-sxm"))
    assert found["cache_bytes"] == own.cache_bytes
    assert found["weights_bytes"] == own.weights_bytes
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    _, again, _ = ran(capsys, "context=4096&device=h100-sxm", "--config", "-", "--json")
    assert again == out


def test_a_log_gives_its_scenario_and_what_it_printed(capsys):
    path = str(LOG / "vllm-v0.log")
    status, out, err = ran(capsys, "--log", path)
    assert status == 2  # a verdict on some other model would be no answer
    assert "predicted against printed" in out
    assert "model=" in err
    status, out, err = ran(capsys, "model=llama-3.1-8b&device=a10", "--log", path, "--json")
    found = json.loads(out)
    assert (status, err) == (0 if found["fits"] else 1, "")
    assert found["model"] == "llama-3.1-8b"
    assert found["engine"].startswith("vllm")
    assert {row["quantity"] for row in found["log_rows"]} >= {"pool"}
    assert {"log_assumed", "log_lines"} <= found.keys()
    # The link fills what the log leaves out, and may not say otherwise.
    status, out, err = ran(capsys, "model=llama-3.1-8b&device=a10&prompt=512&fits=1", "--log", path)
    assert (status, out) == (2, "")
    status, out, err = ran(capsys, "model=llama-3.1-8b&device=a10&prompt=512", "--log", path)
    assert (status, err) == (0 if found["fits"] else 1, "")
    status, out, err = ran(capsys, "model=llama-3.1-8b&device=a10&memory=80", "--log", path)
    assert (status, out) == (2, "")
    assert err.startswith("memory: the link says 80, the log 23.69")


def test_a_config_stands_beside_a_log(capsys, tmp_path):
    config = CONFIG / "meta-llama__Llama-3.1-8B.json"
    path = tmp_path / "log"
    text = (LOG / "vllm-v0.log").read_text("utf-8")
    path.write_bytes(text.encode("utf-16"))  # as a redirect of PowerShell writes it
    status, out, err = ran(
        capsys, "device=a10", "--config", str(config), "--log", str(path), "--json"
    )
    found = json.loads(out)
    assert (status, err) == (0 if found["fits"] else 1, "")
    assert {row["quantity"] for row in found["log_rows"]} >= {"weights", "pool", "tokens"}
    assert all(
        abs(float(row["off (%)"])) < 1 for row in found["log_rows"] if row["unit"] == "tokens"
    )
    status, _, err = ran(capsys, "", "--config", "-", "--log", "-")
    assert (status, err) == (2, "-: standard input holds one file\n")


def test_what_nothing_tells_is_asked_for(capsys):
    path = str(ROOT / "tests" / "data" / "logs" / "ik-mla.log")
    status, out, err = ran(capsys, "device=rtx-4090&model=deepseek-v3", "--log", path)
    assert status == 2
    assert "pool: 1.1393 predicted, 1.1393 printed GiB (+0.00 %)" in out
    assert err.endswith("names no weights known here; add 'weights=…'\n")


def test_files_that_cannot_be_read_are_bad_input(capsys, tmp_path):
    bad = tmp_path / "bad"
    bad.write_bytes(b"\xff\xfe not a config")
    assert ran(capsys, "--config", str(bad))[0] == 2
    assert ran(capsys, "--config", str(tmp_path / "none"))[0] == 2
    status, _, err = ran(capsys, "--log", str(bad))
    assert status == 2
    assert "no start-up log" in err


def test_markdown_csv_and_commands(capsys):
    assert ran(capsys, "", "--markdown")[1].startswith("# Fits")
    assert ran(capsys, "", "--csv")[1].startswith("key,what")
    assert "vllm serve" in ran(capsys, "engine=vllm", "--command")[1]
    with pytest.raises(SystemExit) as ended:
        main(["--nonsense"])
    assert ended.value.code == 2


def test_a_comparison_is_read_from_its_link(capsys):
    link = f"http://localhost:8501/compare?{LESSON_LINK}&embed=true"
    status, out, err = ran(capsys, link)
    assert (status, err) == (1, "")
    assert out.startswith("GQA on fits; GQA off does not.\nsame model, GQA off\n")
    assert "A: GQA off. Does not fit: 2.72 GB too much." in out
    assert f"?{LESSON_LINK}" in out
    assert json.loads(ran(capsys, link, "--json")[1]) == comparison_report.as_dict(LESSON)
    assert ran(capsys, link, "--markdown")[1] == as_markdown(LESSON)
    assert ran(capsys, link, "--csv")[1] == comparison_report.as_csv(LESSON)
    assert ran(capsys, link, "--command")[1].count("vllm serve") == 2
    # One that is wrong on purpose neither has a command nor a say in what fits.
    wrong = "a=&b=&bm=no-gqa"
    assert ran(capsys, wrong)[0] == 0
    assert ran(capsys, wrong, "--command")[1].count("vllm serve") == 1
    # Where nothing is computed correctly, nothing is said to fit.
    assert ran(capsys, "a=&am=no-gqa")[0] == 1
    assert ran(capsys, link, "--config", str(CONFIG / "config.json"))[0] == 2


@pytest.mark.parametrize(
    "page", ["compare?", "compare", "compare?say=hi", "why?ask=x", "log", "accuracy?v=1"]
)
def test_a_link_without_a_plan_is_refused(capsys, page):
    status, out, err = ran(capsys, f"http://localhost:8501/{page}")
    assert (status, out) == (2, "")
    assert err.strip()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_does_not_end_like_a_plan_that_does_not_fit():
    with open("/dev/full", "w") as full:
        program = [sys.executable, "-m", "planner", "memory=1"]
        done = subprocess.run(program, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "standard output" in done.stderr


@pytest.mark.parametrize(
    ("asked", "closed", "said"),
    [
        ("", ">&-", "standard output is closed"),
        ("model=none", "2>&-", ""),
        ("--config -", "<&-", "-: standard input is closed"),
        ("--config /dev/zero", "", "/dev/zero: more than 32,000,000 bytes"),
        ("--log /dev/zero", "", "/dev/zero: more than 32,000,000 bytes"),
        ("http://[::1/?model=none", "", "model: “none” is not known."),
        ("--log $'no\\e[31m\\nfile'", "", "no\\x1b[31m\\nfile: "),
    ],
)
def test_what_cannot_be_read_or_written_is_one_sentence(asked, closed, said):
    command = f"{sys.executable} -m planner {asked} {closed}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert done.stderr.count("\n") == bool(said)


def test_an_interrupted_program_says_so(capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.__main__.evaluate", interrupted)
    assert run([""]) == 2
    assert capsys.readouterr() == ("", "Interrupted.\n")


def test_no_error_ends_like_a_plan_that_does_not_fit(capsys, monkeypatch):
    assert run(["memory=1"]) == 1
    capsys.readouterr()

    def broken(scenario):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("planner.__main__.evaluate", broken)
    assert run(["memory=1"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "This could not be worked out: ZeroDivisionError: two lines\n"


@pytest.mark.parametrize("query", [query for query, _, _ in BAD_COMPARISONS if query[0] in "ab"])
def test_a_bad_comparison_is_named_and_nothing_else_is_printed(capsys, query):
    status, out, err = ran(capsys, query)
    assert (status, out) == (2, "")
    assert err.strip()
    assert not re.search("used instead|it was cut|computed correctly", err)


def test_as_a_program_without_the_upper_floors():
    code = (
        "import sys; from planner.__main__ import main; main(['--json']);"
        "print({'pandas', 'altair', 'streamlit'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr.strip() == "set()"
    program = [sys.executable, "-m", "planner", "memory=1"]
    assert subprocess.run(program, cwd=ROOT, capture_output=True).returncode == 1
    program = [sys.executable, "-m", "planner", "--version"]
    assert subprocess.run(program, cwd=ROOT, capture_output=True).stdout.decode() == (
        f"{__version__}\n"
    )


@pytest.mark.parametrize("form", ["--markdown", "--csv", "--json", "--command"])
def test_what_is_written_to_a_file_is_utf_8_whatever_the_system_s_own(form):
    program = [sys.executable, "-m", "planner", "engine=vllm", form]
    own = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(program, cwd=ROOT, capture_output=True, env=own)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode("utf-8").strip()


def test_json_is_read_as_strictly():
    assert read_json('{"context": 4096}').found == read_link("context=4096").found
    for text in ("[]", "3", "{", '{"context": NaN}', '{"context": true}', "[" * 100_000,
                 '{"context": 4096, "context": 8192}', '{"context": [4096]}', "\ud800",
                 '{"memory": 1e999}', '{"context": 4096.5}', b"\xff"):  # fmt: skip
        read = read_json(text)
        assert read.found is None, text
        assert all(read.lines()), text
    assert read_link("a=" + "x" * 20_000).problems
    assert read_link("&".join(["context=4096"] * 200)).problems


def test_every_engine_serves_in_the_terminal(capsys):
    for engine in presets.engines():
        status, out, _ = ran(capsys, f"engine={engine}", "--json")
        own = evaluate(Scenario(engine=engine))
        assert status == (0 if json.loads(out)["fits"] else 1)
        assert json.loads(out)["max_concurrency"] == own.plan.max_concurrency
