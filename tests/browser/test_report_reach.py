"""The report harms nobody, asks nobody, and can be read on a phone, in the dark, by keyboard."""

import re

import numpy as np
import pytest

from browser_hands import CONTRAST, counted, drag, ink, overflow, status
from dris.report_page.page import render
from made_report import HOSTILE, hostile, made

pytestmark = pytest.mark.browser

WITHOUT_POLICY = (r"<meta http-equiv[^>]*>", "")


@pytest.mark.parametrize("width", [375, 1280])
def test_hostile_text_does_nothing(opened, width):
    tab = opened(render(hostile()), width=width)
    page = tab.page
    drag(page, 0.02, 0.01, 0.995, 0.97)
    page.locator("#queue-0").focus()
    page.keyboard.press("w")
    page.locator("#alpha").press("End")
    assert tab.harm == []
    assert any(word in page.locator("h1").inner_text() for word in HOSTILE)
    assert page.evaluate("document.querySelectorAll('script').length") == 2


def unescaped(page):
    """The page as it would be if two of the hostile words were written as they are."""
    for word in (HOSTILE[0], HOSTILE[2]):
        page = page.replace(word.replace("<", "&lt;").replace(">", "&gt;"), word)
    return page


def test_the_policy_stops_what_a_page_without_escaping_would_run_and_the_check_sees_it(opened):
    tab = opened(unescaped(render(hostile())))
    assert any("Content Security Policy" in trouble for trouble in tab.harm)
    assert tab.page.evaluate("window.hacked ?? null") is None


def test_without_escaping_and_policy_the_text_runs_and_the_check_sees_it(opened):
    tab = opened(re.sub(*WITHOUT_POLICY, unescaped(render(hostile()))))
    assert any(trouble.startswith("ran:") for trouble in tab.harm)


def test_the_check_for_requests_sees_one(opened, html):
    asking = re.sub(*WITHOUT_POLICY, html).replace(
        "</main>", '<img src="http://example.invalid/x.png" alt=""></main>'
    )
    assert "asked for http://example.invalid/x.png" in opened(asking).harm


@pytest.mark.parametrize("kind", ["pictures", "rows", "hostile"])
def test_a_phone_shows_the_page_without_scrolling_sideways(opened, html, kind):
    if kind == "rows":
        table = {f"a rather long column name {c}": np.arange(300.0) for c in range(12)}
        html = render(made(table=table, names=["x" * 90, "y", "z", "w"]))
    elif kind == "hostile":
        html = render(hostile())
    page = opened(html, width=375).page
    assert overflow(page) <= 0


def test_the_check_for_sideways_scrolling_sees_it(opened, html):
    page = opened(html, width=375).page
    page.evaluate("document.querySelector('main').style.width = '600px'")
    assert overflow(page) > 0


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_its_background_by_the_accepted_ratio(opened, html, dark):
    page = opened(html, dark=dark).page
    page.locator("#queue-0").focus()
    for key in "rwu":
        page.keyboard.press(key)
    assert page.evaluate(CONTRAST) == []


def test_the_check_for_contrast_sees_pale_text(opened, html):
    page = opened(html).page
    page.evaluate("document.documentElement.style.setProperty('--muted', '#a0a8b0')")
    assert page.evaluate(CONTRAST) != []


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_dark_and_light_follow_the_system_and_the_button(opened, html):
    page = opened(html, dark=True).page
    dark = background(page)
    page.locator("#theme").click()
    assert background(page) == "rgb(255, 255, 255)" != dark
    page.locator("#theme").click()
    assert background(page) == dark


def test_print_is_light_and_drawn_even_from_a_dark_screen(opened, html):
    page = opened(html, dark=True).page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert background(page) == "rgb(255, 255, 255)"
    assert ink(page) > 10
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert background(page) != "rgb(255, 255, 255)"
    assert len(page.pdf(format="A4")) > 20_000


FOCUSED = """() => {
    const e = document.activeElement, ringed = x => getComputedStyle(x).outlineStyle !== 'none';
    const name = e.id || e.dataset.preset || e.dataset.outcome || e.name || e.textContent.trim();
    return [name, ringed(e) || (e.type === 'radio' && ringed(e.nextElementSibling))];
}"""


def tabbed(page, presses):
    """What the Tab key reaches, in order, and whether each shows that it has the focus."""
    reached = []
    for _ in range(presses):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break  # past the last of them
        reached.append(tuple(page.evaluate(FOCUSED)))
    return reached


def test_the_keyboard_reaches_everything_and_the_focus_can_be_seen(opened, html):
    page = opened(html).page
    page.locator("#queue-0").focus()
    page.keyboard.press("r")
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.locator("body").press("Home")
    page.evaluate("document.querySelector('.skip').focus()")
    reached = tabbed(page, 320)
    names = [name for name, _ in reached]
    wanted = ["theme", "suspect-search", "queue-export", "queue-0", "queue-v0", "alpha"]
    wanted += ["alpha-reset", "kept", "plane", "hard", "page-on"]
    assert [w for w in wanted if w not in names] == []
    assert [names.index(w) for w in wanted] == sorted(names.index(w) for w in wanted)
    assert [name for name, ring in reached if not ring] == []


def test_the_check_for_a_visible_focus_sees_its_absence(opened, html):
    page = opened(html).page
    page.evaluate("for (const b of document.querySelectorAll('*')) b.style.outline = 'none'")
    assert not all(ring for _, ring in tabbed(page, 10))


def test_arrow_keys_move_and_resize_a_region_in_the_plane(opened, html):
    page = opened(html).page
    page.get_by_role("button", name="Clear", exact=True).click()
    page.locator("#plane").focus()
    page.keyboard.press("ArrowLeft")
    moved = status(page)
    assert "in this region" in moved
    for _ in range(4):
        page.keyboard.press("Shift+ArrowUp")
    assert counted(page) > int(re.match(r"(No|[\d,]+)", moved)[1].replace("No", "0"))
    page.keyboard.press("Escape")
    assert status(page) == "Nothing chosen yet."
