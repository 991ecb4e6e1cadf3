"""A headless Chromium, and a page opened in it that remembers whatever went wrong."""

import itertools
import shutil
from dataclasses import dataclass, field

import numpy as np
import pytest

from dris.report_page.page import render
from made_report import made

NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Opened:
    """A page, and what it logged, threw, popped up or asked the network for."""

    page: object
    troubles: list = field(default_factory=list)

    @property
    def harm(self):
        """All of that, and whether text of the data ran."""
        ran = self.page.evaluate("window.hacked ?? null")
        return self.troubles + ([f"ran: {ran}"] if ran is not None else [])


@pytest.fixture(scope="session")
def chromium():
    api = pytest.importorskip(
        "playwright.sync_api",
        reason='NO BROWSER TEST WAS RUN: playwright is missing, pip install "dris[browser]"',
    )
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("NO BROWSER TEST WAS RUN: no Chromium here; apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def looked_at(chromium):
    """Open an address: `looked_at(url, width=375, dark=True)`; others are trouble."""
    contexts = []

    def open_(url, *, width=1280, dark=False, touch=False):
        context = chromium.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            has_touch=touch,
        )
        contexts.append(context)
        page = context.new_page()
        tab = Opened(page)

        def answer(route):
            if route.request.url.startswith(url):
                return route.continue_()
            tab.troubles.append(f"asked for {route.request.url}")
            return route.abort()

        def refuse(dialog):
            tab.troubles.append(f"popped up: {dialog.message}")
            dialog.dismiss()

        page.route("**/*", answer)
        page.on("dialog", refuse)
        page.on("pageerror", lambda error: tab.troubles.append(f"threw: {error}"))
        page.on(
            "console",
            lambda message: (
                tab.troubles.append(f"logged: {message.text}")
                if message.type in ("error", "warning")
                else None
            ),
        )
        page.goto(url)
        page.wait_for_selector("html[data-ready]", timeout=30_000)
        return tab

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture
def opened(looked_at, tmp_path):
    """Open a page's text: `opened(html, width=375, dark=True, touch=True)`."""
    count = itertools.count()

    def open_(html, **how):
        path = tmp_path / f"page{next(count)}.html"
        path.write_text(html, encoding="utf-8", errors="backslashreplace")
        return looked_at(path.as_uri(), **how)

    return open_


@pytest.fixture(scope="session")
def data():
    """300 examples with a picture each."""
    rng = np.random.default_rng(0)
    return made(x=rng.integers(0, 256, (300, 1, 8, 8), dtype=np.uint8))


@pytest.fixture(scope="session")
def html(data):
    return render(data)
