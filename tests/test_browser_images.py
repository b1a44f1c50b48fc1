"""A chart copied as an image in a real browser, and saved where the browser does not copy."""

import pytest
from playwright.sync_api import expect

from planner.compare.comparison import encode as encode_comparison
from tests.test_comparison import LESSON

pytestmark = pytest.mark.browser

COMPARED = ".st-key-chart-overlaid_latency svg.marks"
READ = """async () => {
  const [item] = await navigator.clipboard.read()
  const picture = await createImageBitmap(await item.getType("image/png"))
  return [item.types, picture.width, picture.height]
}"""
NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"


@pytest.mark.parametrize(
    ("path", "drawn", "title"),
    [
        ("?model=lesson-7b-gqa&engine=vllm", ".st-key-chart-engine_step svg.marks",
         "Memory at this load"),
        (f"compare?{encode_comparison(LESSON)}", COMPARED, "Memory of the fullest device"),
    ],
)  # fmt: skip
def test_a_chart_is_copied_as_the_image_of_it(browse, path, drawn, title):
    page = browse(path, drawn)
    page.get_by_text("Export").click()
    page.locator(".st-key-copy-image").get_by_role("button", name=title).click()
    expect(page.get_by_text("Copied.", exact=True)).to_be_visible()
    types, width, height = page.evaluate(READ)
    assert types == ["image/png"]
    assert width > 800
    assert height > 500


def test_without_a_clipboard_it_is_saved(browse):
    page = browse()
    page.add_init_script(NO_CLIPBOARD)
    page.reload()
    page.locator(".st-key-chart-step svg.marks").wait_for()
    page.get_by_text("Export").click()
    with page.expect_download() as saved:
        page.locator(".st-key-copy-image").get_by_role("button", name="Where it fits").click()
    assert saved.value.suggested_filename == "fit.png"
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")
    expect(page.get_by_text("Saved as a file")).to_be_visible()


def test_what_goes_wrong_is_said(browse):
    page = browse()
    page.route("**/api/plan/*.png?*", lambda route: route.fulfill(status=503, body="{}"))
    page.get_by_text("Export").click()
    page.locator(".st-key-copy-image").get_by_role("button", name="Where it fits").click()
    expect(page.get_by_text("This did not work")).to_be_visible()
