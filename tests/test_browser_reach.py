"""Compare, Log and Accuracy can be read: colours, names of things, and zoom.

The Learn pages and the Plan page are looked at in test_browser_learn.py.
"""

import pytest

from tests.browser import idle
from tests.test_browser_learn import serious_findings

pytestmark = pytest.mark.browser

DRAWN = {
    "compare": ".st-key-tools button, .st-key-present-switch label",
    "log": ".st-key-log textarea",
    "accuracy": "svg.marks",
}
ZOOMED = {"width": 720, "height": 450}  # what 1,440 × 900 leaves at 200 %


@pytest.mark.parametrize("path", DRAWN)
def test_a_page_is_accessible_in_light_and_dark_and_can_be_zoomed(browse, path):
    page = browse(path, DRAWN[path], viewport={"width": 1440, "height": 900})
    assert serious_findings(page) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(ZOOMED)
    idle(page, DRAWN[path])
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert serious_findings(page) == []
