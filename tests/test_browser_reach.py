"""Every page can be read and reached: colours, names of things, zoom, and the keyboard alone.

The Learn pages and the Plan page are looked at in test_browser_learn.py.
"""

import pytest

from tests.browser import idle
from tests.test_browser_learn import serious_findings

pytestmark = pytest.mark.browser

DRAWN = {
    "size": ".st-key-chart-tipping svg.marks",
    "compare": ".st-key-tools button, .st-key-present-switch label",
    "log": ".st-key-log textarea",
    "accuracy": "svg.marks",
}
ZOOMED = {"width": 720, "height": 450}  # what 1,440 × 900 leaves at 200 %
# The name of what has the focus, and whether it looks different without.
FOCUSED = """() => {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  const around = [at, at.parentElement, at.parentElement?.parentElement].filter(Boolean)
  const looks = () => around.map((each) => {
    const { outline, boxShadow, borderColor, backgroundColor } = getComputedStyle(each)
    return [outline, boxShadow, borderColor, backgroundColor].join()
  }).join()
  const focused = looks()
  at.blur()
  const seen = looks() !== focused
  at.focus({ focusVisible: true })
  const name = at.getAttribute('aria-label') || at.innerText || at.name || at.type || at.tagName
  return { name: name.trim().slice(0, 40), seen }
}"""


@pytest.mark.parametrize("path", DRAWN)
def test_a_page_is_accessible_in_light_and_dark_and_can_be_zoomed(browse, path):
    page = browse(path, DRAWN[path], viewport={"width": 1440, "height": 900})
    assert serious_findings(page) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(ZOOMED)
    idle(page, DRAWN[path])
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert serious_findings(page) == []


def test_the_plan_can_be_worked_with_the_keyboard_alone(browse):
    page = browse("")
    page.locator("body").press("Tab")
    met = []
    for _ in range(60):
        met.append(page.evaluate(FOCUSED))
        page.keyboard.press("Tab")
    names = [each["name"] for each in met]
    for wanted in ("Model", "Concurrency", "Context", "Bandwidth", "Copy link", "Pin", "Export"):
        assert any(wanted in name for name in names), (wanted, names)
    assert [each["name"] for each in met if not each["seen"]] == []
