"""Browser tests need Chromium: without it they are skipped aloud, or fail where required."""

import os

import pytest
from hypothesis import settings

from tests import browser

# A busy machine must not fail a property; and where a failure would only be met by chance, by
# somebody else's change, the same examples are drawn every time.
settings.register_profile("planner", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("planner")


def pytest_collection_modifyitems(items):
    if browser.chromium_path() is None:
        for item in items:
            if "browser" in item.keywords:
                item.add_marker(pytest.mark.skip(reason=browser.HOW))


def pytest_configure(config):
    config.addinivalue_line("markers", "browser: drives the real app in a real browser")


def pytest_terminal_summary(terminalreporter, exitstatus, config):
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
    with browser.chromium() as started:
        yield started
