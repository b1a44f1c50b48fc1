"""A class in real browsers: guesses come in, a reload adds none, one reveal opens it for all."""

import pytest
from playwright.sync_api import expect

from tests.browser import idle, metrics

pytestmark = pytest.mark.browser

DRAWN = ".st-key-tools button"
PHONE = {"viewport": {"width": 390, "height": 844}}
LINK = "cost?ask=load&say=How+many+GB%3F&room=calm-otter-41"


def guess(page, number):
    page.get_by_label("All requests (GB)").fill(number)
    page.get_by_role("button", name="Show the answer").click()
    expect(page.get_by_text("your guess is")).to_be_visible()
    idle(page, DRAWN)


def test_a_class_guesses_reloads_and_sees_the_answer_at_once(browse):
    presenter = browse(f"{LINK}&present=1", DRAWN)
    class_ = [browse(LINK, DRAWN, **PHONE) for _ in range(3)]
    for page, number in zip(class_, ("14", "68", "100"), strict=True):
        guess(page, number)
    expect(presenter.locator(".count")).to_have_text("3 have guessed")
    class_[1].reload()
    expect(class_[1].get_by_text("your guess is 68 GB")).to_be_visible()
    expect(class_[1].get_by_label("All requests (GB)")).to_have_count(0)
    expect(presenter.locator(".count")).to_have_text("3 have guessed")
    for page in (presenter, *class_):
        idle(page, DRAWN)
        assert metrics(page)["All requests"] == "?"
        assert "68.7" not in page.content()
    presenter.get_by_role("button", name="Reveal").click()
    expect(presenter.locator(".bars .truth")).to_have_text("68.7 GB")
    for page in class_:
        expect(page.get_by_text("68.7 GB").first).to_be_visible()


def test_a_room_follows_its_presenter_along_the_path(browse):
    presenter = browse("why?steps=3&width=4&ask=ratio&stop=1&room=blue-river-10&present=1", DRAWN)
    guesser = browse("lesson?room=blue-river-10", DRAWN, **PHONE)
    expect(guesser.get_by_text("1 of 20")).to_be_visible()
    presenter.keyboard.press("PageDown")
    expect(presenter.get_by_text("2 of 20")).to_be_visible()
    expect(guesser.get_by_text("2 of 20")).to_be_visible()


def test_the_presenter_s_code_never_leads_to_the_guesser_s_own_machine(browse):
    presenter = browse(f"{LINK}&present=1", DRAWN)
    question = presenter.locator(".st-key-question")
    expect(question.get_by_text("calm-otter-41").first).to_be_visible()
    shown = question.inner_text()
    assert "localhost" not in shown
    assert "127.0.0.1" not in shown
