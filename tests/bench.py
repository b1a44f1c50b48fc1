"""How fast it is: prints figures, asserts nothing. Run by hand: python tests/bench.py

Measures, in headless Chromium on this machine and in one run: a slider's key press until verdict,
figures and both first charts were painted again, from a film and without one, beside the barest
Streamlit page (median and 95th percentile over 50 changes); what a film takes; the script's own
share of a change, the cold start, `import planner`, a million scenarios through the
formulas, and 100,000 requests simulated.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.browser import app, chromium

CHANGES = 50
WIDE = {"width": 1440, "height": 1000}

# Time from the key press until all that is watched had changed and nothing more did for a while,
# the frame after that counted in. What changes later, as the answer at rest, is another painting.
WATCH = """
(selectors) => new Promise((done) => {
  const seen = new Map(selectors.map((each) => [document.querySelector(each), null]))
  let start = NaN
  const painted = () => {
    const times = [...seen.values()]
    if (times.includes(null) || performance.now() - Math.max(...times) < 60) {
      if (performance.now() - start > 5000) { watch.disconnect(); done(NaN) }
      else setTimeout(painted, 4)
      return
    }
    watch.disconnect()
    done(Math.max(...times) - start)
  }
  const watch = new MutationObserver((changes) => {
    const nodes = new Set(changes.map((change) => change.target))
    for (const part of seen.keys()) {
      if (![...nodes].some((node) => part.contains(node))) continue
      seen.set(part, performance.now())
      requestAnimationFrame(() => seen.set(part, performance.now()))
    }
  })
  const all = { subtree: true, childList: true, attributes: true, characterData: true }
  watch.observe(document.body, all)
  const pressed = () => { start = performance.now(); painted() }
  window.addEventListener('keydown', pressed, { once: true, capture: true })
})
"""
PLAN = ("h1", ".stage .cards .value", ".st-key-chart-memory svg", ".st-key-chart-latency svg")
BAREST = """import streamlit as st
st.write(st.slider("n", 0, 1000, 500, key="n"))
"""


def quantiles(times):
    here = [each for each in times if each == each]  # the rest was not painted within 5 s
    lost = f", {len(times) - len(here)} not painted" if len(here) < len(times) else ""
    return (
        f"median {statistics.median(here):.0f}, 95th percentile {np.percentile(here, 95):.0f}{lost}"
    )


def changes(page, slider, watched, pause):
    """Times in ms from a key press on a slider to what is watched, painted."""
    page.locator(slider).first.focus()
    times = []
    for change in range(CHANGES + 5):
        page.evaluate(f"(watched) => {{ window.measured = ({WATCH})(watched) }}", list(watched))
        page.keyboard.press("ArrowRight" if change % 20 < 10 else "ArrowLeft")
        times.append(page.evaluate("() => window.measured"))
        page.wait_for_timeout(pause)
    return times[5:]


def key_to_paint():
    with app() as address, chromium() as browser:
        start = time.perf_counter()
        page = browser.new_page(viewport=WIDE)
        page.goto(address)
        page.locator(".st-key-chart-latency .marks").first.wait_for()
        print(f"first visit to a fresh server: {time.perf_counter() - start:.2f} s to the charts")
        start = time.perf_counter()
        page = browser.new_page(viewport=WIDE)
        page.goto(address)
        page.locator(".st-key-chart-latency .marks").first.wait_for()
        print(f"first visit to a warm server: {time.perf_counter() - start:.2f} s to the charts")
        page.wait_for_timeout(1500)
        for slider in ("context", "concurrency"):
            handle = f".st-key-slider-{slider} input[type=range]"
            page.locator(handle).hover()
            page.wait_for_timeout(1500)
            for pause, hand in ((60, "keys held"), (800, "a key now and then")):
                times = changes(page, handle, PLAN, pause)
                print(f"{slider}, from a film, {hand}: {quantiles(times)} ms")
        bare = browser.new_page(viewport=WIDE)
        bare.route("**/film?*", lambda route: route.abort())
        bare.goto(address)
        bare.locator(".st-key-chart-latency .marks").first.wait_for()
        bare.wait_for_timeout(1500)
        times = changes(bare, ".st-key-slider-context input[type=range]", PLAN, 100)
        print(f"context, without a film, so at rest: {quantiles(times)} ms")


def barest():
    """The least that Streamlit takes: a slider and its number."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "app.py"
        script.write_text(BAREST)
        with app(script=script) as address, chromium() as browser:
            page = browser.new_page(viewport=WIDE)
            page.goto(address)
            page.locator("[data-testid=stMarkdown]").wait_for()
            page.wait_for_timeout(1500)
            times = changes(
                page, "[role=slider], input[type=range]", ["[data-testid=stMarkdown]"], 100
            )
            print(f"the barest Streamlit page: {quantiles(times)} ms")


def films():
    """What a film takes, worked out and sent."""
    from planner import Scenario
    from planner.stage.film import Films, film
    from planner.stage.stops import STOPS

    engine = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm", output=200)
    for scenario, name in ((Scenario(), "ideal"), (engine, "an engine")):
        for slider in STOPS:
            times = []
            for _ in range(10):
                start = time.perf_counter()
                film(scenario, slider, 2)
                times.append(1e3 * (time.perf_counter() - start))
            size = len(Films().of(scenario, slider, 2)) / 1e3
            print(f"a film of {slider}, {name}: {quantiles(times)} ms, {size:.0f} kB")


def script():
    from streamlit.testing.v1 import AppTest

    page = AppTest.from_file(str(Path(__file__).parent.parent / "app.py"), default_timeout=30).run()
    times = []
    for change in range(CHANGES):
        page.query_params["context"] = str(1000 + change)
        start = time.perf_counter()
        page.run()
        times.append(1e3 * (time.perf_counter() - start))
    print(f"script, with the test harness around it: {quantiles(times)} ms")


def imports():
    code = "import time; t = time.perf_counter(); import planner; print(time.perf_counter() - t)"
    seconds = float(subprocess.check_output([sys.executable, "-c", code]))
    print(f"import planner: {1e3 * seconds:.0f} ms")


def million():
    from planner import Scenario, plan

    contexts = np.arange(1_000_000) + 128.0
    start = time.perf_counter()
    plan(Scenario(), context=contexts)
    print(f"a million scenarios: {time.perf_counter() - start:.2f} s")


def simulation():
    from planner import Scenario
    from planner.sizing.arrivals import drawn
    from planner.sizing.simulate import simulate

    scenario = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.34")
    for rate in (0.1, 5, 15, 60):
        load = drawn(100_000, rate=rate, prompt=(1024, 4096), output=(128, 450))
        start = time.process_time()
        found = simulate(scenario, load)
        seconds = time.process_time() - start
        print(f"100,000 requests at {rate}/s: {seconds:.2f} s, {found.events:,} events")


if __name__ == "__main__":
    imports()
    million()
    films()
    simulation()
    script()
    barest()
    key_to_paint()
