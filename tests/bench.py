"""How fast it is: prints figures, asserts nothing. Run by hand: python tests/bench.py

Measures, in headless Chromium on this machine: a slider's key press until both charts were painted
again (median and 95th percentile over 50 changes), the script's own share of it, the cold start,
`import planner`, a million scenarios through the formulas, and 100,000 requests simulated.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.browser import app, chromium

CHANGES = 50

# Time from the key press to the last change of either chart's drawing, after which a frame passed.
WATCH = """
() => new Promise((done) => {
  const charts = ['memory', 'latency'].map((key) => document.querySelector(`.st-key-chart-${key}`))
  const last = new Map()
  const watch = new MutationObserver((changes) => {
    for (const change of changes)
      for (const chart of charts)
        if (chart.contains(change.target)) last.set(chart, performance.now())
  })
  const all = { subtree: true, childList: true, attributes: true, characterData: true }
  charts.forEach((chart) => watch.observe(chart, all))
  window.addEventListener('keydown', (event) => {
    const start = performance.now()
    const settle = () => {
      const now = performance.now()
      if (last.size == charts.length && now - Math.max(...last.values()) > 150) {
        watch.disconnect()
        done(Math.max(...last.values()) - start)
      } else if (now - start > 5000) { watch.disconnect(); done(NaN) }
      else requestAnimationFrame(settle)
    }
    settle()
  }, { once: true, capture: true })
})
"""


def quantiles(times):
    return f"median {statistics.median(times):.0f}, 95th percentile {np.percentile(times, 95):.0f}"


def key_to_paint():
    with app() as address, chromium() as browser:
        start = time.perf_counter()
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(address)
        page.locator(".st-key-chart-latency .marks").first.wait_for()
        print(f"first visit to a fresh server: {time.perf_counter() - start:.2f} s to the charts")
        page.wait_for_timeout(1500)
        slider = page.locator(".st-key-slider-context input[type=range]")
        slider.focus()
        times = []
        for change in range(CHANGES + 5):
            pending = page.evaluate_handle(f"() => {{ window.measured = ({WATCH})() }}")
            page.keyboard.press("ArrowRight" if change % 20 < 10 else "ArrowLeft")
            times.append(page.evaluate("() => window.measured"))
            pending.dispose()
        times = times[5:]
        print(f"key press to both charts painted: {quantiles(times)} ms over {len(times)} changes")


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
    simulation()
    script()
    key_to_paint()
