"""The page's first screen and its confusion picture in a real Chromium."""

import numpy as np
import pytest

from browser_hands import overflow
from dris.report_page.page import render
from made_report import made, without_proxies

pytestmark = pytest.mark.browser


def rows(page):
    return page.locator("#suspect-table tbody tr").count()


def shown_status(page):
    return page.locator("#suspect-status").inner_text()


def test_the_first_screen_holds_the_answer_and_three_clear_suspects(opened, html, data):
    tab = opened(html)
    page = tab.page
    assert page.locator("#clearest .card").count() == 3
    assert page.locator("#clearest img").count() == 3
    last = page.locator("#clearest .card").last.bounding_box()
    assert last["y"] + last["height"] <= 800
    assert page.locator(".checks").is_hidden()
    page.locator(".statistics summary").click()
    assert page.locator(".checks li").count() == len(data.decision.judgement.checks)
    assert page.locator("#heat").bounding_box()["y"] < 2100
    assert tab.harm == []


def test_a_cell_shows_its_suspects_and_a_second_click_all_of_them(opened, html, data):
    page = opened(html).page
    every = int(data.suspected.sum())
    assert shown_status(page).startswith(f"{every} suspects")
    cell = page.locator("#heat button").first
    count = int(cell.inner_text())
    cell.click()
    assert shown_status(page).startswith(f"{count} suspect")
    assert rows(page) == min(count, 12)
    cell = page.locator("#heat [aria-pressed=true]")
    assert cell.count() == 1
    cell.click()
    assert shown_status(page).startswith(f"{every} suspects")


def test_every_suspect_can_be_searched_also_those_without_a_picture(opened):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3000, 1, 4, 4), dtype=np.uint8)
    ids = [f"photo-{i:05}" for i in range(3000)]
    data = made(3000, ids=ids, x=images)
    tab = opened(render(data))
    page = tab.page
    last = ids[int(data.suspects[-1])]
    page.locator("#suspect-search").fill(last)
    assert rows(page) == 1
    assert last in page.locator("#suspect-table tbody").inner_text()
    page.locator("#suspect-clear").click()
    page.locator("#suspect-on").click()
    assert page.locator("#suspect-at").inner_text().startswith("2 of ")
    assert tab.harm == []


def test_a_picture_is_enlarged_and_put_away_by_key(opened, html):
    page = opened(html).page
    page.locator("#clearest .zoomable").first.focus()
    page.keyboard.press("Enter")
    box = page.locator("dialog.zoom img").bounding_box()
    assert min(box["width"], box["height"]) > 400
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.zoom", state="detached")
    assert page.evaluate("document.activeElement.className").endswith("zoomable")


def test_long_text_is_there_in_full_and_further_columns_behind_a_click(opened):
    story = "a long story " * 40
    table = {"text": [story + str(i) for i in range(300)]}
    table |= {f"c{k}": np.arange(300.0) for k in range(30)}
    tab = opened(render(made(table=table)))
    page = tab.page
    card = page.locator("#clearest .card").first
    assert story in card.locator("dd.long").inner_text() + " "
    assert card.locator("dt").count() == 8
    card.locator("summary").click()
    page.wait_for_function("() => document.querySelectorAll('#clearest .card dt').length >= 31")
    assert "23 more columns" in card.locator("summary").inner_text()
    assert tab.harm == []


@pytest.mark.parametrize("width", [375, 1280])
def test_a_page_without_proxies_works_without_a_plane(opened, width):
    data = without_proxies(made(classes=2))
    tab = opened(render(data), width=width)
    page = tab.page
    assert page.locator("#plane").count() == 0
    assert page.locator("#heat button").count() == 2
    assert page.locator(".bar-row").count() == 2
    page.locator("#theme").click()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert overflow(page) <= 0
    assert tab.harm == []
