"""The charts of some random plans in a browser: no word on another, on a line or cut off.

Many more are looked at by tests/collisions.py.
"""

import pytest

from tests import collisions

pytestmark = pytest.mark.browser


def test_words_of_random_plans_stand_apart_at_every_width(browse):
    page = browse("?present=1", viewport={"width": 1920, "height": 1080})
    found = []
    for width, height in sorted(collisions.SIZES.items(), reverse=True):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(500)  # the sidebar and the charts follow
        lines = height if width == 1920 else 0  # of a room's screen
        for scenario in collisions.plans(4, seed=3):
            page.evaluate(collisions.PUT, collisions.sent(scenario, lines))
            found += [(width, *each) for each in page.evaluate(collisions.FINDINGS, ".stage")]
    assert found == []


def test_a_collision_is_found(browse):
    page = browse("", viewport={"width": 1440, "height": 1000})
    assert page.evaluate(collisions.FINDINGS, ".stage") == []
    page.evaluate(
        """() => {
          const words = document.querySelectorAll('.st-key-chart-latency .role-mark text')
          const copy = words[0].cloneNode()
          copy.textContent = 'on it'
          words[0].after(copy)
        }"""
    )
    found = page.evaluate(collisions.FINDINGS, ".st-key-chart-latency")
    assert "word on word" in {wrong for _, wrong, _ in found}
