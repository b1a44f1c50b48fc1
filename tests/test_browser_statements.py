"""Every statement of the lesson can be read on a page, in a state that a link opens."""

import csv
from collections import defaultdict

import pytest

from tests.browser import ROOT, idle

pytestmark = pytest.mark.browser

DRAWN = ".st-key-tools button"
SHUT = "[data-testid=stMain] details:not([open]) > summary"
PATIENCE = 40  # looks, until what the boxes hold is there


def read():
    """What each state of a page has to show: (page, query) -> statements with their text."""
    found = defaultdict(list)
    with (ROOT / "tests/lesson_statements.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            text = (int(row["number"]), row["statement"], row["shows"])
            found[row["page"], row["query"]].append(text)
    return found


STATEMENTS = read()


def test_no_statement_is_left_out():
    numbers = {number for each in STATEMENTS.values() for number, _, _ in each}
    assert numbers == set(range(1, 94))


@pytest.mark.parametrize(("page", "query"), STATEMENTS, ids=map("?".join, STATEMENTS))
def test_a_page_shows_its_statements(browse, page, query):
    own = browse(f"{page}?{query}", DRAWN)
    while (shut := own.locator(SHUT)).count():
        shut.evaluate_all("boxes => boxes.forEach(box => box.click())")
        idle(own, DRAWN)
    for _ in range(PATIENCE):
        text = " ".join(own.locator("[data-testid=stMain]").inner_text().split())
        missing = [each for each in STATEMENTS[page, query] if each[2] not in text]
        if not missing:
            break
        own.wait_for_timeout(250)
    assert missing == []
