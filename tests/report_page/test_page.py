"""The page as text: it runs and loads nothing foreign, and has every panel and its numbers."""

import base64
import hashlib
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files

import numpy as np
import pytest

import dris
from dris.pipeline.route import decide_by
from dris.report_page.content import column_summaries, page_of
from dris.report_page.page import PANELS, reliability, render, report
from made_ensemble import made_ensemble
from made_report import (
    HOSTILE,
    Reader,
    embedded,
    hostile,
    made,
    made_decision,
    unpack,
    without_proxies,
)

MAX_PAGE_BYTES = 8_000_000


def foreign_tags(page):
    """Elements and handlers that only text of the data could have brought."""
    odd = {"iframe", "object", "embed", "link", "form", "base", "img"}
    scripts = [a for tag, a in Reader(page).tags if tag == "script"]
    foreign = [tag for tag, a in Reader(page).tags if tag in odd or any(k[:2] == "on" for k in a)]
    return foreign + ["script"] * (len(scripts) - 2)


def resources(page):
    """Whatever the page would fetch: attributes and style rules that name an address."""
    named = [
        a[key]
        for _, a in Reader(page).tags
        for key in ("src", "href", "action", "data")
        if key in a
    ]
    rules = [t for tag, _, t in Reader(page).raw if tag == "style"]
    named += re.findall(r"url\(([^)]*)\)|@import\s+(\S+)", " ".join(rules))
    return [name for name in named if not str(name).startswith("#")]


def test_hostile_text_brings_no_element_and_no_handler():
    assert foreign_tags(render(hostile())) == []


@pytest.mark.parametrize("word", [HOSTILE[0], HOSTILE[2], HOSTILE[3]])
def test_the_check_for_foreign_elements_catches_a_page_that_does_not_escape(word):
    page = render(hostile()).replace(
        word.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;"), word
    )
    assert foreign_tags(page) != []


def test_the_check_for_foreign_elements_catches_a_script_closed_from_inside():
    assert foreign_tags(render(hostile()).replace("\\u003c", "<").replace("\\u003e", ">")) != []


def test_a_long_list_in_the_recipe_is_folded():
    page = render(made(recipe={"files": [f"photo-{i}.jpeg" for i in range(5000)]}))
    assert "photo-5.jpeg" in page
    assert "photo-5.jpeg, 4,994 more" in Reader(page).text
    assert "photo-77.jpeg" not in page  # the recipe's own file holds them all


def test_hostile_text_is_shown_as_it_is():
    page = render(hostile())
    shown = Reader(page).text
    for word in HOSTILE[:8]:
        assert word in shown
    assert embedded(page)["classes"] == list(HOSTILE)


def test_a_lone_surrogate_in_an_id_can_be_written(tmp_path):
    decision = made_decision(ids=["a\udc80", *map(str, range(299))])
    assert b"\\udc80" in report(decision, tmp_path / "r.html").read_bytes()


def test_the_policy_allows_our_own_script_and_style_by_their_hashes_and_nothing_else():
    reader = Reader(render(made()))
    policy = next(
        a["content"] for tag, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    own = {
        tag: f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for tag, attributes, text in reader.raw
        if "type" not in attributes
    }
    assert rules == {
        "default-src": "'none'",
        "script-src": own["script"],
        "style-src": own["style"],
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_the_page_names_no_address_to_load_from():
    page = render(made())
    assert resources(page) == []
    assert "http://" not in page
    assert "https://" not in page


@pytest.mark.parametrize(
    "bad", ['<img src="https://a.invalid/x">', "<style>@import 'x';</style>", '<a href="//a">x</a>']
)
def test_the_check_for_addresses_catches_one(bad):
    assert resources(render(made()).replace("</main>", bad + "</main>")) != []


def test_ids_are_unique_and_every_link_and_label_finds_its_target():
    tags = Reader(render(made())).tags
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    aims = [a["href"][1:] for tag, a in tags if tag == "a"]
    aims += [a["for"] for tag, a in tags if tag == "label" and "for" in a]
    assert set(aims) <= set(ids)


def test_the_verdict_comes_before_the_clearest_and_the_checks_are_folded():
    page = made()
    text = render(page)
    checks = list(page.decision.judgement.checks.values())
    order = ["<h1>", 'class="answer"', 'id="clearest"', '<details class="statistics">']
    order += [checks[0].name, 'id="plane-section"']
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    folded = text[places[3] :].partition("</details>")[0]
    assert all(check.name in folded for check in checks)
    kept = page.decision.kept.size
    assert f"{kept} of 300 ({100 * kept / 300:.3g}\u00a0%) kept by rank_variance" in folded


def test_the_limit_is_there_in_numbers_and_gone_where_it_is_withdrawn():
    decision = decide_by(made_ensemble()[0], keep=0.25)
    page = page_of(decision, title="made", recipe={})
    numbers = f"<dd>{decision.limit.wrong:,} of {decision.limit.left:,} "
    assert numbers in render(page)
    assert numbers not in render(replace(page, decision=replace(decision, limits=())))


def test_notes_are_folded_and_counted():
    page = made()
    noted = replace(page, decision=replace(page.decision, notes=("4 rows <c> are put aside",)))
    folded = render(noted).partition('<details class="noticed">')[2].partition("</details>")[0]
    assert "1 note" in folded
    assert "4 rows &lt;c&gt; are put aside" in folded
    bare = replace(page, decision=replace(page.decision, notes=()))
    assert 'class="noticed"' not in render(bare)


def test_without_proxies_there_is_a_page_without_a_plane():
    text = render(without_proxies(made()))
    assert 'id="confusions"' in text
    assert 'id="plane-section"' not in text
    assert 'id="how-much"' not in text
    assert len(embedded(text)["clearest"]) == 3


def test_what_is_not_measured_draws_no_chart():
    text = render(made(canaries=False, limits=False, recipe={}))
    full = render(made())
    assert 'id="contamination"' in full
    assert 'id="contamination"' not in text
    assert "no checks" in text


@cache
def trained_page():
    """Of proxies with folds, so that P(wrong) is a probability; a tenth of the labels is wrong."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    given = np.where(rng.random(600) < 0.1, 1 - y, y)
    x = rng.normal(size=(600, 3)) + 2 * y[:, None]
    decision = dris.clean(x, given, workers=1, check_harm=False)
    return page_of(decision, title="made", recipe={})


def test_stated_and_measured_certainty_are_both_there_for_every_label():
    page = trained_page()
    shown = reliability(page)
    assert sum(int(row[1].replace(",", "")) for row in shown.chart.table) == len(page.data)
    assert 0.7 * shown.canaries < shown.caught <= shown.canaries
    assert "P(wrong)" in render(page)
    assert reliability(replace(page, canary=np.zeros_like(page.canary))) is None


def test_a_column_is_shown_by_its_kind_its_gaps_and_its_range(tmp_path):
    rows = [f"{i / 10},{'' if i % 5 else i},{'abc'[i % 3]},{i % 2}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["size,rare,kind,y", *rows]), encoding="utf-8")
    size, rare, kind = column_summaries(dris.read_data(tmp_path / "t.csv", label="y"))[:3]
    assert (size.kind, size.gaps, size.low, size.high) == ("number", 0, "0", "5.9")
    assert (rare.name, rare.gaps) == ("rare", 48)
    assert kind.name == "kind"


def test_every_panel_is_a_file_and_every_file_a_panel():
    folder = files("dris.report_page").joinpath("page_files")
    written = {f.name for f in folder.iterdir() if f.name.startswith("panel_")}
    assert {panel.file for panel in PANELS} == written


def test_every_panel_is_on_the_page_once_in_order_and_the_bar_leads_to_it():
    page = trained_page()
    text = render(page)
    panels = [panel for panel in PANELS if f'<section id="{panel.anchor}"' in text]
    assert {panel.name for panel in PANELS} - {panel.name for panel in panels} <= {
        "hard",
        "annotators",
        "neighbours",
    }
    places = [text.index(f'<section id="{panel.anchor}"') for panel in panels]
    assert places == sorted(places)
    assert text.count("<section") == len(panels)
    for panel in panels:
        link = f'<a href="#{panel.anchor}">{panel.title}</a>'
        assert (link in text) == bool(panel.title)


class Column:
    """Few values, repeated."""

    def __init__(self, values):
        self.values = values

    def __getitem__(self, at):
        return self.values[int(at) % len(self.values)]


def test_fifty_thousand_noisy_pictures_weigh_less_than_eight_megabytes():
    rng = np.random.default_rng(1)
    images = np.resize(
        rng.integers(0, 256, (2_500, 3, 32, 32), dtype=np.uint8), (50_000, 3, 32, 32)
    )
    ids = [f"folder/of/images/class_{i % 20:03}/photo_number_{i:08}.jpeg" for i in range(50_000)]
    page = made(50_000, classes=20, ids=ids, x=images)
    assert len(page.details.pictures) > 1_000
    assert set(page.queue.tolist()) <= set(page.details.pictures)
    assert len(render(page).encode()) < MAX_PAGE_BYTES


def test_fifty_thousand_long_texts_weigh_less_than_eight_megabytes_and_every_suspect_is_there():
    story = "a sentence of a letter that somebody wrote " * 12
    ids = [f"letters/of/the/year/number_{i:08}" for i in range(50_000)]
    text = Column([f"{story}{i}" for i in range(997)])
    page = made(50_000, classes=20, ids=ids, table={"text": text, "n": Column(range(997))})
    written = render(page)
    assert len(written.encode()) < MAX_PAGE_BYTES
    assert unpack(embedded(written)["suspects"]).size == page.suspected.sum() > 7_000
    first = {c: next(p for p in page.suspects if page.data.labels[p] == c) for c in range(20)}
    assert set(map(int, first.values())) <= set(page.details.rows)


def test_the_same_decision_gives_the_same_bytes_and_another_does_not(tmp_path):
    one, two = (report(made_decision(), tmp_path / name).read_bytes() for name in "ab")
    assert one == two
    assert report(made_decision(keep=0.5), tmp_path / "c").read_bytes() != one
