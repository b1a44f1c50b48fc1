"""Browser tests need Chromium: without it they are skipped aloud, or fail where required."""

import os
from urllib.parse import urlsplit

import pytest
from hypothesis import settings
from playwright.sync_api import expect

from tests import browser

# A busy machine must not fail a property; and where a failure would only be met by chance, by
# somebody else's change, the same examples are drawn every time.
settings.register_profile("planner", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("planner")


USUAL = "not slow and not browser"  # as in .pytest.ini: what a plain run takes


def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in item.keywords:
            # A browser on a busy machine misses a beat now and then; a fault fails every time.
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=2))
            if browser.chromium_path() is None:
                item.add_marker(pytest.mark.skip(reason=browser.HOW))


def pytest_configure(config):
    config.addinivalue_line("markers", "browser: drives the real app in a real browser")
    config.addinivalue_line("markers", "slow: takes long; left out unless asked for")


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    if config.option.markexpr == USUAL:
        terminalreporter.write_line(
            'Left out: browser tests and slow ones. All of them: .venv/bin/pytest -m ""'
        )
    skipped = [
        r for r in terminalreporter.stats.get("skipped", []) if browser.HOW in str(r.longrepr)
    ]
    if skipped:
        terminalreporter.write_line(
            f"{len(skipped)} browser tests were SKIPPED: {browser.HOW}.", yellow=True, bold=True
        )


def pytest_sessionfinish(session, exitstatus):
    if browser.chromium_path() is None and os.environ.get("BROWSER_REQUIRED"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def app():
    with browser.app() as address:
        yield address


@pytest.fixture(scope="session")
def chromium():
    expect.set_options(timeout=20_000)  # a busy machine is slow, not wrong
    with browser.chromium() as started:
        yield started


@pytest.fixture
def browse(app, chromium):
    """Open a path and its query in a browser context of its own; nothing may go wrong in it."""
    contexts, errors, asked = [], [], []

    def opened(path="", drawn=browser.PLAN_DRAWN, **options):
        context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"], **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{app}/{path}")
        browser.idle(page, drawn)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []
    hosts = {urlsplit(url).hostname for url in asked}
    assert hosts - {None} == {"127.0.0.1"}  # None: data and blob addresses
