"""The report in a real Chromium: it draws, answers, exports, harms nobody and asks nobody."""

import re

import numpy as np
import pytest

from browser_hands import counted, drag, ink, status
from dris.pipeline.audit import AnswerLine, read_answers
from dris.report_page.page import render
from made_report import HOSTILE, hostile, made

pytestmark = pytest.mark.browser


def test_everything_the_page_promises_is_there(opened, html, data):
    tab = opened(html)
    page = tab.page
    assert f"{len(data.suspects)} labels" in page.locator("h1").inner_text()
    assert ink(page) > 10
    assert page.locator("#legend button").count() == 5
    assert page.locator("#histogram .bar").count() > 5
    assert page.locator("#histogram .canary").count() == 1
    assert page.locator("#contamination .line").count() == 1
    assert page.locator(".bar-row").count() == 4
    assert page.locator("#queue .item").count() == 12
    assert page.locator("#recipe").text_content().count("proxies.model") == 1
    assert tab.harm == []


def test_the_check_for_ink_sees_an_empty_plane(opened, html):
    page = opened(html).page
    page.evaluate("document.getElementById('plane').getContext('2d').reset()")
    assert ink(page) == 0


def test_brushing_all_of_the_plane_finds_every_example(opened, html, data):
    page = opened(html).page
    drag(page, 0.02, 0.01, 0.995, 0.97)
    assert counted(page) == len(data.data)
    assert page.locator("#cards .card").count() == 6
    assert page.locator("#cards img").count() == 6
    first = page.locator("#cards").inner_text()
    page.locator("#page-on").click()
    assert page.locator("#cards").inner_text() != first
    assert page.locator("#page-at").inner_text() == "2 of 50"


def test_brushing_a_region_finds_what_lies_in_it(opened, html, data):
    page = opened(html).page
    page.get_by_role("button", name="Hard and agreed").click()
    height = np.sqrt(data.rank_variance / (1.04 * data.rank_variance.max()))
    expected = ((data.mean_rank >= 0.75) & (height <= 0.4)).sum()
    assert abs(counted(page) - expected) <= 1
    drag(page, 0.9, 0.02, 0.99, 0.06)
    assert status(page).startswith("No example") or counted(page) < 5


def test_a_click_finds_one_example_and_clear_forgets_it(opened, html, data):
    page = opened(html).page
    box = page.locator("#plane").bounding_box()
    i = int(np.argmax(data.rank_variance))
    left, right, top, bottom = 56, 12, 14, 40  # the margins of the plane
    high = np.sqrt(1 / 1.04)
    page.locator("#plane").click(
        position={
            "x": left + data.mean_rank[i] * (box["width"] - left - right),
            "y": box["height"] - bottom - high * (box["height"] - top - bottom),
        }
    )
    assert status(page).startswith("1 example under the pointer")
    assert str(data.data.ids[i]) in page.locator("#cards").inner_text()
    page.get_by_role("button", name="Clear", exact=True).click()
    assert status(page) == "Nothing chosen yet."


def test_a_finger_brushes_too(opened, html, data):
    page = opened(html, width=375, touch=True).page
    page.locator("#plane").scroll_into_view_if_needed()
    box = page.locator("#plane").bounding_box()
    session = page.context.new_cdp_session(page)

    def touch(kind, x, y):
        points = [{"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]}]
        session.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [] if kind == "touchEnd" else points},
        )

    touch("touchStart", 0.02, 0.01)
    for share in (0.3, 0.6, 0.97):
        touch("touchMove", share, share)
    touch("touchEnd", 0, 0)
    assert counted(page) > 0.9 * len(data.data)


def test_hiding_a_decision_takes_it_out_of_the_plane_and_the_count(opened, html, data):
    page = opened(html).page
    page.locator("#legend [data-outcome=dropped]").click()
    assert page.locator("#legend [data-outcome=dropped]").get_attribute("aria-pressed") == "false"
    drag(page, 0.02, 0.01, 0.995, 0.97)
    assert counted(page) == (data.outcomes() != 1).sum()


def test_the_slider_moves_sizes_contamination_classes_and_the_plane(opened, html, data):
    page = opened(html).page
    size = page.locator("#alpha-size")
    assert size.inner_text() == str(data.steps[data.chosen].kept.sum())
    before = page.locator("#bars").inner_text(), page.locator("#alpha-mark").get_attribute("x1")
    page.locator("#alpha").press("End")
    last = data.steps[-1]
    assert page.locator("#alpha-now").inner_text() == f"{100 * last.fraction:.3g}\u00a0%"
    assert size.inner_text() == str(last.kept.sum())
    assert page.locator("#alpha-limit").inner_text() == f"{100 * last.limit:.3g}\u00a0%"
    after = page.locator("#bars").inner_text(), page.locator("#alpha-mark").get_attribute("x1")
    assert before[0] != after[0]
    assert before[1] != after[1]
    dropped = page.locator("#legend [data-outcome=dropped]").inner_text()
    assert dropped.endswith(f" {(~last.kept).sum()}")
    page.locator("#alpha-reset").click()
    assert (
        page.locator("#bars").inner_text(),
        page.locator("#alpha-mark").get_attribute("x1"),
    ) == before


def click_answer(page, q, answer):
    """Click it in the middle of the screen, clear of what sticks to the top."""
    page.locator(f"#queue-{q}").evaluate(
        "e => e.scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    page.locator(f"#queue-{q} input[value={answer}]").click()


def test_ticks_by_key_and_by_click_are_exported_as_the_reader_reads_them(
    opened, html, data, tmp_path
):
    tab = opened(html)
    page = tab.page
    assert page.locator("#queue-export").is_disabled()
    page.locator("#queue-0").focus()
    page.keyboard.press("w")
    assert page.evaluate("document.activeElement.id") == "queue-1"
    page.keyboard.press("r")
    click_answer(page, 2, "unsure")
    click_answer(page, 3, "wrong")
    page.locator("#queue-3 select").select_option("")
    counts = page.locator("#queue-count").inner_text()
    assert re.findall(r"\d+", counts) == ["4", str(len(data.queue)), "1", "2", "1"]
    with page.expect_download() as download:
        page.locator("#queue-export").click()
    path = tmp_path / "got.csv"
    download.value.save_as(path)
    assert download.value.suggested_filename == "review.csv"

    def names(q):
        p = data.queue[q]
        return (
            str(data.data.ids[p]),
            data.data.names[data.data.labels[p]],
            data.data.names[data.suggested[p]],
        )

    proposed = names(0)[2] if names(0)[1] != names(0)[2] else ""
    assert read_answers(path) == [
        AnswerLine(*names(0), "wrong", proposed),
        AnswerLine(*names(1), "right", ""),
        AnswerLine(*names(2), "unsure", ""),
        AnswerLine(*names(3), "wrong", ""),
    ]
    assert tab.harm == []


def test_hostile_names_come_back_from_the_csv_unchanged_and_no_cell_is_a_formula(opened, tmp_path):
    data = hostile()
    page = opened(render(data)).page
    page.locator("#queue-0").focus()
    for _ in range(len(data.queue)):
        page.keyboard.press("r")
    with page.expect_download() as download:
        page.locator("#queue-export").click()
    path = tmp_path / "got.csv"
    download.value.save_as(path)
    ticks = read_answers(path)
    # A NUL cannot stand in HTML or CSV and is not asked for.
    assert [t.id for t in ticks] == [str(data.data.ids[p]) for p in data.queue]
    assert {t.given for t in ticks} <= set(HOSTILE)
    cells = re.findall(r'(?:^|,)"((?:[^"]|"")*)"', path.read_text(encoding="utf-8"), re.MULTILINE)
    assert [c for c in cells if c[:1] in ("=", "+", "-", "@")] == []


def test_fifty_thousand_examples_open_in_three_seconds(opened):
    html = render(made(50_000, classes=100))
    times = []
    for _ in range(3):  # the best of three: the machine may be busy with something else
        tab = opened(html)
        times.append(int(tab.page.get_attribute("html", "data-ready")))
        assert tab.harm == []
        if times[-1] < 3_000:
            break
    assert min(times) < 3_000
    drag(tab.page, 0.02, 0.01, 0.995, 0.97)
    assert counted(tab.page) == 50_000
