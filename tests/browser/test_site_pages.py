"""The site that `make docs` built, in a real browser: nothing overflows, offline search."""

from pathlib import Path

import pytest

from browser_hands import CONTRAST, overflow

pytestmark = pytest.mark.browser
SITE = Path(__file__).parents[2] / "build" / "site"
# The page of an error is for servers only: it cannot know how deep the address was.
PAGES = sorted(str(p.relative_to(SITE)) for p in SITE.rglob("*.html") if p.name != "404.html")


@pytest.fixture(params=["light", "dark"])
def visitor(request, chromium):
    """A page of a browser that has no network, and what went wrong in it."""
    if not PAGES:
        pytest.skip("no site here; make docs builds it")
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, color_scheme=request.param, offline=True
    )
    page = context.new_page()
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on(
        "requestfailed",  # what the next page cut short did not fail
        lambda asked: asked.failure == "net::ERR_ABORTED" or page.wrong.append(asked.url),
    )
    page.on(
        "request",
        lambda asked: (
            asked.url.startswith(("file:", "blob:", "data:")) or page.wrong.append(asked.url)
        ),
    )
    yield page
    context.close()


@pytest.mark.parametrize("visitor", ["light"], indirect=True)  # dark has the same widths
def test_every_page_fits_a_phone_and_asks_nobody_for_anything(visitor):
    for name in PAGES:
        visitor.goto((SITE / name).as_uri())
        assert overflow(visitor) <= 0, name
        hidden = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        assert visitor.evaluate(hidden) == [], name
    assert visitor.wrong == []


def test_the_search_finds_a_page_without_a_server(visitor):
    visitor.goto((SITE / "index.html").as_uri())
    visitor.locator("label[for=__search]").first.click()
    visitor.locator("input.md-search__input").press_sequentially("canaries")
    found = visitor.locator(".md-search-result__item h1").first
    found.wait_for(timeout=30_000)
    assert found.inner_text()
    assert visitor.wrong == []


def test_the_words_of_the_first_page_can_be_read(visitor):
    visitor.goto((SITE / "index.html").as_uri())
    assert [one for one in visitor.evaluate(CONTRAST) if "<span" not in one] == []  # code aside
