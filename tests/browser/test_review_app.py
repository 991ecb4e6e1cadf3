"""`dris review` in a real Chromium: a person answers, filters, searches, stops and goes on."""

import csv
import json
import os
import signal

import numpy as np
import pytest
from PIL import Image

from browser_hands import CONTRAST, NAMELESS, overflow
from commands import start_dris
from dris.data.reader import read_data
from made_report import HOSTILE

pytestmark = pytest.mark.browser
pytest.importorskip("starlette", reason='pip install "dris[review]"')

FAST = ("--epochs", "3", "--proxies", "2", "--workers", "1", "--out", "out")
NAMES = ("cat", "dog", "eel", "fox")
ANIMALS = ("animals.csv", "--label", "kind", "--id", "name", "--reviewer", "ana")


def write_animals(folder, n=700, names=NAMES, ids=None):
    """Four classes in five columns, a fifth of the labels the next one."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % len(names)
    given = np.where(rng.random(n) < 0.2, (truth + 1) % len(names), truth)
    x = rng.normal(size=(n, 4)) + 4 * np.eye(len(names), 4)[truth]
    path = folder / "animals.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["name", "note", *(f"x{j}" for j in range(4)), "kind"])
        for i in range(n):
            name = f"r{i}" if ids is None else f"{ids[i % len(ids)]}{i}"
            note = f"seen on day{i}x by the river" if ids is None else name
            out.writerow([name, note, *(f"{v:.4f}" for v in x[i]), names[given[i]]])
    return path, truth, given


def write_photos(folder, classes, name="p"):
    """Dark and light noise in two folders, a seventh in the wrong one."""
    rng = np.random.default_rng(0)
    for c, label in enumerate(classes):
        (folder / "photos" / label).mkdir(parents=True)
        for i in range(60):
            shade = 40 + 150 * (c if rng.random() > 0.15 else 1 - c)
            image = rng.integers(shade, shade + 60, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(image).save(folder / "photos" / label / f"{name}{i}.png")


class Server:
    """`dris review` as a process of its own."""

    def __init__(self, folder, *words):
        asked = ("review", *words, "--no-open", *FAST)
        self.process = start_dris(*asked, cwd=folder, OMP_NUM_THREADS="1")
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith("open "):
                break
        else:
            raise AssertionError(self.process.stderr.read())
        self.url = self.said[-1].split()[1]

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=20)


@pytest.fixture
def served(tmp_path):
    """Start the app on a table, or on what is named; all of them are ended after the test."""
    running = []

    def start(*words):
        if not words:
            write_animals(tmp_path)
        running.append(Server(tmp_path, *(words or ANIMALS)))
        return running[-1]

    yield start
    for server in running:
        if server.process.poll() is None:
            server.stop()


def entries(folder, name="animals"):
    lines = (folder / f"{name}.review.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    return [json.loads(line) for line in lines]


def left(page):
    return int(page.locator("#left").inner_text().split()[0].replace(",", ""))


def shown(page, where, text, same=True):
    """Wait until the card, which comes a moment after what was asked for, says this (or not)."""
    page.wait_for_function(
        "([where, text, same]) => ((document.querySelector('#card ' + where)?.textContent ?? null)"
        " === text) === same && document.querySelector('#card ' + where) !== null",
        arg=[where, text, same],
    )


def says(page, where, text, how="includes"):
    """Wait until the text of an element includes this, or ends with it."""
    page.wait_for_function(
        "([where, text, how]) => document.querySelector(where).textContent[how](text)",
        arg=[where, text, how],
    )


def wait_saved(page, count, total):
    page.wait_for_function(
        "n => document.getElementById('left').textContent.replace(',', '').startsWith(n + ' ')",
        arg=str(total - count),
    )


def test_fifty_labels_are_answered_by_keyboard_alone(served, looked_at, tmp_path):
    tab = looked_at(served().url)
    page, total = tab.page, left(tab.page)
    assert total > 100
    for k in range(50):
        before = page.locator("#card .id").inner_text()
        if k % 10 == 9:
            page.keyboard.press("o")
            page.keyboard.type("fo")
            page.keyboard.press("Enter")
        else:
            page.keyboard.press("aakku"[k % 5])
        shown(page, ".id", before, same=False)
    wait_saved(page, 50, total)
    printed = entries(tmp_path)
    assert len({tuple(entry["at"]) for entry in printed}) == 50
    counts = {
        v: sum(entry["answer"] == v for entry in printed) for v in ("wrong", "right", "unsure")
    }
    assert counts["unsure"] == 5
    assert counts["wrong"] + counts["right"] == 45
    assert tab.harm == []


def test_undo_by_key_brings_the_card_back(served, looked_at, tmp_path):
    page = looked_at(served().url).page
    total, first = left(page), page.locator("#card .id").inner_text()
    page.keyboard.press("k")
    wait_saved(page, 1, total)
    shown(page, ".id", first, same=False)
    page.keyboard.press("z")
    wait_saved(page, 0, total)
    shown(page, ".id", first)
    assert [entry["entry"] for entry in entries(tmp_path)] == ["answer", "undo"]


def test_filters_and_search_narrow_the_queue(served, looked_at):
    page = looked_at(served().url).page
    total = int(page.locator("#where").inner_text().split()[-1])
    page.locator("#by-given").select_option(label="dog")
    some = int(page.locator("#where").inner_text().split()[-1])
    assert 0 < some < total
    shown(page, ".given", "dog")
    page.locator("#by-suggested").select_option(label="cat")
    shown(page, ".rather", "cat")
    page.locator("#clear").click()
    counts = {}
    for bound in ("above", "below", ""):
        page.locator("#by-p").select_option(bound)
        counts[bound] = int(page.locator("#where").inner_text().split()[-1])
    assert 0 < counts["above"] + counts["below"] < counts[""] == total  # some have no P(wrong)
    name = page.locator("#card .id").inner_text()
    page.keyboard.press("/")
    page.keyboard.type(f"RIVER day{name[1:]}x")
    says(page, "#where", "1 of 1", "endsWith")
    shown(page, ".id", name)
    page.locator("#search").fill("nothing of the kind")
    says(page, "#where", "nothing here")


def test_a_cell_is_accepted_at_once_after_its_sample_was_checked(served, looked_at, tmp_path):
    tab = looked_at(served().url)
    page = tab.page
    sizes = [int(t) for t in page.locator(".heat button").all_inner_texts()]
    cell = page.locator(".heat button").nth(int(np.argmax(sizes)))
    size = max(sizes)
    assert size > 20
    cell.click()
    says(page, "#where", f"1 of {size}")
    page.locator("#cell-check").click()
    says(page, "#where", "of 20", "endsWith")
    for k in range(20):
        page.keyboard.press("a")
        page.wait_for_function(
            "n => document.querySelector('#cell').textContent.includes(n + ' of 20 checked') "
            "|| document.querySelector('#cell-accept')",
            arg=str(k + 1),
        )
    printed = page.locator("#cell").inner_text()
    assert "with 95\u00a0% confidence" in printed
    assert f"other {size - 20}" in printed
    page.locator("#cell-accept").click()
    says(page, "#told", "accepted as")
    last = entries(tmp_path)[-1]
    assert (last["seen"], len(last["at"])) == (False, size - 20)
    page.locator("#card").focus()
    page.keyboard.press("z")
    says(page, "#told", "open again")
    assert tab.harm == []


def test_the_first_card_is_the_surest_suspect_with_its_evidence(served, looked_at, tmp_path):
    tab = looked_at(served().url)
    page = tab.page
    first = json.loads((tmp_path / "animals.review.jsonl").read_text().split("\n")[0])["worklist"]
    assert page.locator("#card .id").inner_text() == f"r{first['positions'][0]}"
    assert 0 not in first["sampled"]
    percent = float(page.locator(".p-wrong").inner_text().split()[-2])
    assert percent == pytest.approx(100 * min(first["p_wrong"][0], 0.99), abs=0.51)
    assert page.locator(".chance").count() == 3
    says(page, "#nearest", "nearest")
    assert page.locator("#told.bad").count() == 0
    # The counter on the page stays the same whichever card is answered.
    words = page.locator("#limit").inner_text()
    for k in range(15):
        page.keyboard.press("k")
        wait_saved(page, k + 1, len(first["positions"]))
        assert page.locator("#limit").inner_text() == words
    assert tab.harm == []


@pytest.mark.parametrize("kind", ["text", "picture"])
def test_a_grid_takes_one_answer_for_many(served, looked_at, tmp_path, kind):
    if kind == "text":
        server = served()
    else:
        write_photos(tmp_path, ["cat", "dog"])
        server = served("photos", "--reviewer", "ana")
    tab = looked_at(server.url)
    page, total = tab.page, left(tab.page)
    page.keyboard.press("g")
    page.wait_for_selector(".tile")
    assert page.locator(".tile").count() == min(24, total)
    page.locator(".tile").nth(2).click()
    says(page, "[data-does=wrong]", "these 1")
    page.keyboard.press("e")
    says(page, "[data-does=every]", "all")
    page.keyboard.press("e")
    says(page, "[data-does=wrong]", "these 24")
    page.locator(".tile").first.focus()
    page.keyboard.press("Space")
    says(page, "[data-does=wrong]", "these 23")
    page.keyboard.press("Space")
    says(page, "[data-does=wrong]", "these 24")
    page.keyboard.press("a")
    wait_saved(page, 24, total)
    (last,) = entries(tmp_path, "animals" if kind == "text" else "photos")
    assert (len(last["at"]), last["answer"], last["seen"]) == (24, "wrong", True)
    page.keyboard.press("z")
    wait_saved(page, 0, total)
    page.keyboard.press("g")
    page.wait_for_selector("#card .labels")
    assert page.evaluate(NAMELESS) == []
    assert tab.harm == []


def test_finish_writes_corrected_data_and_can_decide_again(served, looked_at, tmp_path):
    server = served()
    tab = looked_at(server.url)
    page, total = tab.page, left(tab.page)
    before = (tmp_path / "animals.csv").read_bytes()
    for _ in range(5):
        page.keyboard.press("a")
        page.wait_for_timeout(60)
    wait_saved(page, 5, total)
    page.locator("#finish").click()
    page.locator("#again").check()
    page.locator("#write").click()
    page.wait_for_selector("#finished code", timeout=60_000)
    printed = page.locator("#finished").inner_text()
    assert "5 labels corrected" in printed
    assert "report.html" in printed
    assert (tmp_path / "animals.csv").read_bytes() == before
    new = read_data(tmp_path / "out/corrected.csv", label="kind", id="name", trusted="trusted")
    assert new.trusted.sum() == 5
    assert (tmp_path / "out/again/report.html").is_file()
    with page.expect_download() as download:
        page.get_by_role("link", name="Label Studio").click()
    assert download.value.suggested_filename == "review-label-studio.json"
    assert tab.harm == []


def test_killed_in_the_middle_it_goes_on_with_every_answer(served, looked_at, tmp_path):
    server = served()
    tab = looked_at(server.url)
    page, total = tab.page, left(tab.page)
    for k in range(7):
        page.keyboard.press("k")
        wait_saved(page, k + 1, total)
    server.kill()
    page.keyboard.press("k")
    page.wait_for_function("() => document.querySelector('#told').classList.contains('bad')")
    assert len(entries(tmp_path)) == 7
    again = served(*ANIMALS)
    assert any("goes on in" in line for line in again.said)
    assert not any("trained" in line for line in again.said)
    assert again.url != server.url
    fresh = looked_at(again.url)
    assert left(fresh.page) == total - 7
    fresh.page.keyboard.press("k")
    wait_saved(fresh.page, 8, total)
    assert fresh.harm == []


def test_two_people_see_each_others_progress_and_their_agreement(served, looked_at):
    server = served()
    ana, ben = looked_at(server.url), looked_at(server.url)
    total = left(ana.page)
    ben.page.locator("#who").fill("ben")
    ben.page.keyboard.press("Enter")
    ben.page.wait_for_function("() => document.activeElement.id !== 'nobody'")
    ben.page.locator("#card").focus()
    ana.page.locator("#card").focus()
    for key in "kkka":
        ana.page.keyboard.press(key)
        ana.page.wait_for_timeout(80)
    wait_saved(ana.page, 4, total)
    wait_saved(ben.page, 4, total)  # an event, not a reload
    for key in "kkk":
        ben.page.keyboard.press(key)
        ben.page.wait_for_timeout(80)
    ben.page.locator("#people-details summary").click()
    says(ben.page, "#people", "agree on 3 (100\u00a0%")
    ben.page.keyboard.press("Escape")
    ben.page.locator("#card").focus()
    ben.page.keyboard.press("u")
    says(ben.page, "#people", "75\u00a0%")
    says(ana.page, "#people", "75\u00a0%")
    ana.page.locator("#by-state").select_option("disputed")
    says(ana.page, "#where", "1 of 1", "endsWith")
    assert ana.harm == ben.harm == []


@pytest.mark.parametrize("width", [375, 1280])
def test_hostile_labels_ids_and_columns_do_nothing(served, looked_at, tmp_path, width):
    names = [word.replace("\x00", "") for word in HOSTILE[:4]]
    write_animals(tmp_path, names=names, ids=[w.replace("\x00", "") for w in HOSTILE])
    tab = looked_at(served(*ANIMALS).url, width=width)
    page = tab.page
    if width < 800:
        page.keyboard.press("s")
    page.wait_for_selector(".near")
    for key in "aku":
        page.keyboard.press(key)
        page.wait_for_timeout(100)
    page.keyboard.press("o")
    page.keyboard.type("<")
    page.keyboard.press("Escape")
    page.locator("#finish").click()
    page.wait_for_timeout(100)
    assert page.locator("script").count() == 1
    assert overflow(page) <= 0
    assert tab.harm == []


def test_hostile_names_of_files_and_folders_do_nothing(served, looked_at, tmp_path):
    folders = ["<img src=x onerror=window.hacked=3>", "dog & 'cat'"]
    write_photos(tmp_path, folders, name='"><svg onload=window.hacked=4>')
    tab = looked_at(served("photos", "--reviewer", "ana").url)
    page = tab.page
    page.wait_for_function("() => document.querySelector('#card img')?.naturalWidth > 0")
    page.keyboard.press("i")
    page.wait_for_selector("dialog.zoom img")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.zoom", state="detached")
    page.keyboard.press("a")
    says(page, "#told", "Saved")
    assert (tmp_path / "photos.review.jsonl").is_file()
    assert tab.harm == []


def test_phone_dark_print_names_and_focus(served, looked_at):
    server = served()
    phone = looked_at(server.url, width=375)
    assert overflow(phone.page) <= 0
    accept = phone.page.locator("[data-does=wrong]").bounding_box()
    assert accept["y"] + accept["height"] <= 800  # in reach without scrolling
    for dark in (False, True):
        page = looked_at(server.url, dark=dark).page
        page.wait_for_selector(".near")
        assert page.evaluate(CONTRAST) == []
        page.keyboard.press("g")
        page.wait_for_selector(".tile")
        assert page.evaluate(CONTRAST) == []
        page.keyboard.press("g")
        page.wait_for_selector("#card .labels")
        assert page.evaluate(NAMELESS) == []
    assert len(page.pdf(format="A4")) > 5_000
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        name, ring = page.evaluate("""() => {
            const e = document.activeElement;
            const ring = getComputedStyle(e).outlineStyle !== 'none';
            return [e.id || e.dataset.does || e.tagName, ring];
        }""")
        assert ring or name == "BODY", name
        reached.add(name)
    assert {"theme", "finish", "search", "by-given", "wrong", "right", "other", "unsure"} <= reached
    for live in ("#left", "#limit", "#told", "#where"):
        assert page.locator(live).get_attribute("aria-live") == "polite"
    assert phone.harm == []
