"""The searches and fields of the Plan page in a real browser: they take what people type."""

import pytest
from playwright.sync_api import expect

from planner import decode
from tests.browser import idle
from tests.test_browser import field, pick, query_of

pytestmark = pytest.mark.browser


@pytest.fixture
def open_page(browse):
    """Open a query on the Plan page."""
    return lambda query="": browse(f"?{query}")


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("context", "32k", "32,768"),
        ("context", "128K tokens", "131,072"),
        ("context", "1M", "1,048,576"),
        ("context", "16 384", "16,384"),
        ("context", "16,384", "16,384"),
        ("context", "2x", "16,384"),
        ("concurrency", "2k", "2,000"),
        ("bandwidth", "3.35 TB/s", "3,350"),
        ("bandwidth", "0.5x", "500"),
    ],
)
def test_a_field_takes_what_people_write(open_page, name, typed, value):
    page = open_page()
    field(page, name).fill(typed)
    field(page, name).press("Enter")
    expect(field(page, name)).to_have_value(value)
    idle(page)
    number = float(value.replace(",", ""))
    assert getattr(decode(query_of(page))[0], name) == number


@pytest.mark.parametrize(
    ("name", "typed", "id"),
    [
        ("model", "deepseek-ai/DeepSeek-R1", "deepseek-r1"),
        ("model", "deepseek-v3", "deepseek-v3"),
        ("model", "DeepSeek-R1", "deepseek-r1"),
        ("model", "llama-3.3-70b", "llama-3.3-70b"),
        ("model", "llama 3.3 70b", "llama-3.3-70b"),
        ("model", "qwen3-30b-a3b", "qwen3-30b-a3b"),
        ("model", "qwen2.5-7b", "qwen2.5-7b"),
        ("model", "meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("model", "r1", "deepseek-r1"),
        ("device", "h100", "h100-sxm"),
        ("device", "rtx 4090", "rtx-4090"),
        ("device", "a100", "a100-80-sxm"),
        ("weights", "q4", "q4_k_m"),
        ("weights", "awq", "int4-g128"),
        ("weights", "bf16", "fp16"),
    ],
)
def test_a_search_finds_what_people_type(open_page, name, typed, id):
    page = open_page("device=l4&weights=q8_0")
    pick(page, name, typed)
    idle(page)
    assert getattr(decode(query_of(page))[0], name) == id


def test_a_count_before_a_device_is_taken_and_one_that_cannot_be_is_explained(open_page):
    page = open_page("model=llama-3.3-70b")
    pick(page, "device", "2x H100")
    idle(page)
    scenario = decode(query_of(page))[0]
    assert (scenario.device, scenario.tp) == ("h100-sxm", 2)
    pick(page, "device", "4097x H200")
    expect(page.get_by_text("cannot be laid over 4,097 devices; 2 kept")).to_be_visible()


def test_a_name_that_is_not_in_the_list_is_looked_up_and_never_ignored(open_page):
    page = open_page()
    search = page.locator(".st-key-pick-model").get_by_role("combobox")
    search.fill("nobody/not-a-model")
    expect(page.get_by_role("option").first).to_have_text("Look up “nobody/not-a-model”")
    search.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.get_by_label("Model id or its web address")).to_have_value("nobody/not-a-model")
    expect(page.locator(".st-key-refusal")).to_be_visible(timeout=30_000)  # there is no network
    page.keyboard.press("Escape")
    device = page.locator(".st-key-pick-device").get_by_role("combobox")
    device.fill("no such device")
    device.press("Enter")
    said = "Nothing is called “no such device”; Lesson device is kept."
    expect(page.get_by_text(said)).to_be_visible()
    device.fill("h100")
    page.locator("h1").click()
    expect(page.get_by_text("“h100” was not chosen; Lesson device is kept.")).to_be_visible()


def test_on_a_phone_the_drawer_closes_once_a_page_is_chosen(browse):
    page = browse("", viewport={"width": 390, "height": 800})
    page.get_by_test_id("stExpandSidebarButton").click()
    model = page.locator(".st-key-pick-model").get_by_role("combobox")
    expect(model).to_be_in_viewport()  # before the way to other pages
    page.get_by_role("link", name="Compare", exact=True).first.click()
    expect(page.locator("h1")).to_have_text("Compare up to four plans side by side")
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()


def test_a_phone_s_drawer_closes_by_itself_and_says_the_verdict_while_open(browse):
    page = browse("log", ".stHeading h1", viewport={"width": 390, "height": 844})
    drawer, foot = page.locator("[data-testid=stSidebar]"), page.locator(".drawer-verdict")
    open_ = page.locator("[data-testid=stExpandSidebarButton]")
    open_.click()
    expect(drawer).to_be_in_viewport()
    page.reload()
    idle(page, ".stHeading h1")
    expect(drawer).not_to_be_in_viewport()
    open_.click()
    page.locator("[data-testid=stSidebarNavLink]", has_text="Plan").click()
    page.locator(".stage h1").wait_for()
    expect(drawer).not_to_be_in_viewport()
    expect(foot).to_be_hidden()
    open_.click()
    expect(foot).to_have_text(page.locator(".stage h1").inner_text())
