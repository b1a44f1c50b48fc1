"""The real app and a real browser, for tests and the benchmark."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
HOW = "no Chromium was found; install one (Debian: apt-get install chromium) or set CHROMIUM"


def chromium_path() -> str | None:
    """The browser to use: the environment's CHROMIUM, or the first one on the path."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def app(port=None, script="app.py", before=(), below="", options=()):
    """Start the app on a free port of this machine, or on the one given; yields its address.

    script: of another app. before: a command that the start is given to. below: a base path.
    options: more of Streamlit's own.
    """
    if port is None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    command = [*before, sys.executable, "-m", "streamlit", "run", str(script),
               "--server.headless=true", f"--server.port={port}", "--server.address=127.0.0.1",
               f"--server.baseUrlPath={below}", *options]  # fmt: skip
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}{below}"
    try:
        for _ in range(900):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=1)
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise TimeoutError("the app did not start within 90 s")
        yield address
    finally:
        server.terminate()
        server.wait(10)


@contextmanager
def chromium():
    """Start a headless browser with a fresh profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


PLAN_DRAWN = ".st-key-chart-step svg.marks"  # the last chart of the Plan page with the ideal engine


def idle(page, drawn=PLAN_DRAWN):
    """Wait until the app has answered everything: connected, not running, its charts drawn.

    drawn: what is there once the page is; the Plan page's last chart where nothing is said.
    """
    page.wait_for_timeout(250)  # a change is on its way
    ready = "[data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
    page.locator(ready).wait_for(state="attached")
    page.locator("[data-stale=true]").first.wait_for(state="detached")
    page.locator(drawn).first.wait_for()
    page.wait_for_timeout(200)
    page.locator(ready).wait_for(state="attached")


READ_METRICS = """() => [
  ...[...document.querySelectorAll('[data-testid=stMetric]')].map((each) =>
    ['stMetricLabel', 'stMetricValue'].map(
      (part) => each.querySelector(`[data-testid=${part}]`).innerText)),
  ...[...document.querySelectorAll('.stage .figure')].map((each) =>
    ['.label', '.value'].map((part) => each.querySelector(part).innerText)),
]"""


def metrics(page):
    """The figures on the page by their labels, once they have come to rest."""
    found = None
    for _ in range(50):
        before, found = found, page.evaluate(READ_METRICS)
        if found == before:
            return dict(found)
        page.wait_for_timeout(200)
    raise TimeoutError("the figures do not come to rest")


SUPERSCRIPT = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number(text):
    """A number as the proof writes it: 8.94 × 10⁻⁷ or 0.893."""
    mantissa, _, power = text.partition(" × 10")
    return float(mantissa) * 10.0 ** int(power.translate(SUPERSCRIPT) or "0")
