"""A visitor in a real browser who tries everything, by hand: python tests/wander_browser.py 300

Random keys, clicks, pages, Back and Forward, links; after each step the page must come to rest:
connected, its script ended, no error said. Prints the steps before one where it did not.
"""

import contextlib
import random
import sys
from pathlib import Path

from playwright.sync_api import Error

sys.path.insert(0, str(Path(__file__).parent.parent))
from planner.pages import failed
from tests import browser
from tests.wander import LINKS

PATIENCE_MS = 30_000
READY = "[data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
KEYS = ("ArrowRight", "ArrowLeft", "PageUp", "Home", "End", "Enter", "Space", "Tab", "Escape")
# What a hand can be laid on; a link that leaves the app or loads a file is not.
ABLE = (
    "input[type=range]", "summary", "[role=switch]", "[data-testid=stBaseButton-secondary]",
    ".stage .ways button", "[role=radio]", "[data-testid=stCheckbox] label",
)  # fmt: skip


def keys(page, draw):
    slider = page.locator("input[type=range]:visible")
    if slider.count():
        slider.nth(draw.randrange(slider.count())).focus()
    for _ in range(draw.randint(1, 8)):
        page.keyboard.press(draw.choice(KEYS))
        page.wait_for_timeout(60)


def click(page, draw):
    found = page.locator(f":is({', '.join(ABLE)}):visible")
    if found.count():
        found.nth(draw.randrange(found.count())).click(timeout=3000, force=True)


def turn(page, draw):
    links = page.locator("[data-testid=stTopNavLink], [data-testid=stSidebarNavLink]")
    if links.count():
        links.nth(draw.randrange(links.count())).dispatch_event("click")


def history(page, draw):
    for _ in range(draw.randint(1, 6)):
        with contextlib.suppress(Error):  # on its way to another document
            page.evaluate(f"history.{draw.choice(['back', 'back', 'forward'])}()")
        page.wait_for_timeout(60)


def link(page, draw):
    page.goto(f"{page.url.partition('?')[0]}?{draw.choice(LINKS)}")


def at_rest(page, address):
    """Wait until the page has come to rest; AssertionError where it has not."""
    if not page.url.startswith(address):  # Back led out of the app
        page.goto(address)
    page.wait_for_timeout(150)
    page.locator(READY).wait_for(state="attached", timeout=PATIENCE_MS)
    assert not page.get_by_text(failed.SENTENCE).count()
    assert not page.locator("[data-testid=stException], dialog:has-text('Connection')").count()
    page.keyboard.press("Escape")  # a dialog that is open


def main(steps):
    draw, said = random.Random(steps), []
    with browser.app() as address, browser.chromium() as started:
        page = started.new_page()
        page.on("pageerror", lambda error: said.append(f"script error: {error}"))
        page.goto(address)
        at_rest(page, address)
        for step in range(steps):
            act = draw.choice((keys, keys, click, click, turn, history, link))
            said.append(f"{step} {act.__name__} at {page.url}")
            try:
                act(page, draw)
                at_rest(page, address)
            except Exception:
                print("\n".join(said[-12:]))
                raise
    errors = [each for each in said if each.startswith("script error")]
    print(f"{steps} steps, each came to rest; {len(errors)} errors of scripts", *errors, sep="\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
