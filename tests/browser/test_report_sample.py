"""The random sample on the page: once checked, it gives a limit that the reader confirms."""

from dataclasses import replace

import pytest

from dris.pipeline.audit import read_audit
from dris.report_page.content import sample_of
from dris.report_page.page import render

pytestmark = pytest.mark.browser


def with_sample(page, most):
    return replace(page, sample=sample_of(page.data, page.decision.kept, most=most))


def exported(page, path):
    with page.expect_download() as download:
        page.locator("#sample-export").click()
    assert download.value.suggested_filename == "audit.csv"
    download.value.save_as(path)
    return path


def test_a_checked_sample_gives_on_the_page_the_limit_that_the_reader_gives(opened, data, tmp_path):
    checked = with_sample(data, 12)
    tab = opened(render(checked))
    page = tab.page
    assert page.locator("#sample .item").count() == 12
    assert page.locator("#sample .item img").count() == 12
    assert page.locator("#sample").inner_text().count("proxies say") == 0
    page.locator("#sample-0").focus()
    for key in "rrrrwrrrrrr":
        page.keyboard.press(key)
    assert page.locator("#sample-export").is_disabled()
    assert page.locator("#sample-limit").inner_text() != ""
    page.keyboard.press("u")
    limit = read_audit(exported(page, tmp_path / "audit.csv"))
    assert (limit.size, limit.checked, limit.wrong) == (data.decision.kept.size, 12, 2)
    assert limit.share == checked.sample.limits[2]
    assert f"At most {100 * limit.share:.3g}\u00a0%" in page.locator("#sample-limit").inner_text()
    assert page.locator("#queue-count").inner_text().startswith("0 of ")
    assert tab.harm == []


def test_ticks_of_the_sample_outlive_a_reload_and_the_queue_knows_nothing_of_them(opened, data):
    page = opened(render(data)).page
    page.locator("#sample-3").focus()
    page.keyboard.press("w")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#sample-3 input[value=wrong]").is_checked()
    assert not page.locator("#queue-3 input[value=wrong]").is_checked()
