import base64
import hashlib
import html.parser
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.select.selection import keep_top
from dris.data.writer import MANIFEST
from dris.report_page.build import report_data
from dris.report_page.packing import unpacked
from dris.report_page.page import render, write_report
from made_report import ADVICE, HOSTILE, hostile, made

MEGABYTE = 1_000_000


class Reader(html.parser.HTMLParser):
    """Tags with their attributes, the texts of scripts and styles, and all other text."""

    def __init__(self):
        super().__init__()
        self.tags, self.raw, self.text, self.inside = [], [], "", None

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = tag if tag in ("script", "style") else None
        if self.inside:
            self.raw.append((tag, dict(attributes), ""))

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            tag, attributes, text = self.raw[-1]
            self.raw[-1] = (tag, attributes, text + data)
        else:
            self.text += data


def read(page):
    reader = Reader()
    reader.feed(page)
    return reader


def embedded(page):
    return next(json.loads(t) for _, a, t in read(page).raw if a.get("id") == "data")


def foreign_tags(page):
    """Elements and handlers that only text of the data could have brought."""
    odd = {"iframe", "object", "embed", "link", "form", "base", "img"}
    scripts = [a for tag, a in read(page).tags if tag == "script"]
    found = [tag for tag, a in read(page).tags if tag in odd or any(k[:2] == "on" for k in a)]
    return found + ["script"] * (len(scripts) - 2)


def resources(page):
    """Whatever the page would fetch: attributes and style rules that name an address."""
    named = [
        a[key] for _, a in read(page).tags for key in ("src", "href", "action", "data") if key in a
    ]
    rules = [t for tag, _, t in read(page).raw if tag == "style"]
    named += re.findall(r"url\(([^)]*)\)|@import\s+(\S+)", " ".join(rules))
    return [name for name in named if not str(name).startswith("#")]


# -- escaping ------------------------------------------------------------------------------------


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


def test_the_first_screen_is_found_do_change_and_the_clearest_before_the_limit_and_the_checks():
    page = render(made())
    order = [
        ADVICE.headline,
        ADVICE.doing,
        ADVICE.changing,
        'id="clearest"',
        ADVICE.promise,
        "1 of 2 checks hold, 1 cannot tell",
        "spread of the score",
        'id="plane-section"',
    ]
    places = [page.index(words) for words in order]
    assert places == sorted(places)
    folded = page[page.index('<details class="statistics">') : page.index('id="plane-section"')]
    assert "spread of the score" in folded.split("</details>")[0]


def test_the_share_that_is_kept_is_that_of_the_count_beside_it():
    page = render(made(keep=0.25))
    assert "75 of 300 (25 %) kept by rank_variance" in page
    short = made(keep=1.0, subset_at=lambda f: keep_top(np.arange(300.0), fraction=f / 2))
    assert "150 of 300 (50 %) kept by" in render(short)


def test_the_confusions_are_those_of_the_suspects_and_every_suspect_has_a_row():
    data = made()
    page = embedded(render(data))
    counted = sum(n for _, _, n in page["confusion"])
    assert counted == data.suspected.sum() == unpacked(page["suspects"]).size
    assert all(given != other for given, other, _ in page["confusion"])
    wary = data.suspicion[unpacked(page["suspects"])]
    assert (np.diff(wary) <= 0).all()
    assert page["clearest"] == data.queue[:3].tolist()


def test_no_label_is_asked_about_that_the_proxies_would_give_as_well():
    data = made()
    assert (data.suggested[data.queue] != data.labels[data.queue]).all()
    assert len(made(suggested=None).queue) == 200


def test_a_legend_names_only_curves_that_are_drawn():
    both = render(made())
    assert "swatch estimate" in both
    limit = render(made(contamination_at=lambda s: (None, 0.1)))
    assert 'class="swatch estimate"' not in limit
    assert 'class="swatch limit"' in limit


def test_a_long_list_in_the_recipe_is_folded():
    page = render(made(recipe={"files": [f"photo-{i}.jpeg" for i in range(5000)]}))
    assert "photo-5.jpeg" in page
    assert "… and 4,994 more" in read(page).text
    assert "photo-77.jpeg" not in page  # the recipe's own file holds them all


def test_without_proxies_there_is_a_page_without_a_plane():
    data = report_data(
        None,
        title="probabilities",
        advice=ADVICE,
        keep=0.5,
        subset_at=lambda f: keep_top(np.arange(4.0), fraction=f),
        labels=[0, 1, 0, 1],
        suspicion=[0.1, 0.9, 0.2, 0.3],
        suspected=np.array([False, True, False, False]),
        suggested=[0, 0, 0, 1],
    )
    page = render(data)
    assert 'id="confusions"' in page
    assert 'id="plane-section"' not in page
    assert 'id="how-much"' not in page
    assert embedded(page)["clearest"] == [1]


def test_hostile_text_is_shown_as_it_is():
    page = render(hostile())
    shown = read(page).text
    for word in HOSTILE[:8]:
        assert word in shown
    assert embedded(page)["classes"] == list(HOSTILE)


def test_a_lone_surrogate_in_an_id_can_be_written(tmp_path):
    data = made(3, classes=2, keep=0.5, ids=["a\udc80", "b", "c"], canaries=None)
    assert b"\\udc80" in write_report(data, tmp_path / "r.html").read_bytes()


# -- what may run and load -------------------------------------------------------------------------


def test_the_policy_allows_our_own_script_and_style_by_their_hashes_and_nothing_else():
    reader = read(render(made()))
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


def test_no_element_has_a_style_attribute_since_the_policy_would_refuse_it():
    assert [tag for tag, a in read(render(made())).tags if "style" in a] == []


def test_ids_are_unique_and_every_link_and_label_finds_its_target():
    tags = read(render(made())).tags
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    aims = [a["href"][1:] for tag, a in tags if tag == "a"]
    aims += [a["for"] for tag, a in tags if tag == "label" and "for" in a]
    assert set(aims) <= set(ids)


# -- what the script reads -------------------------------------------------------------------------


def test_the_embedded_numbers_are_those_of_the_data():
    data = made()
    page = embedded(render(data))
    assert np.abs(unpacked(page["x"]) / 65535 - data.mean_rank).max() <= 0.5 / 65535 + 1e-12
    found = unpacked(page["y"]) / 65535 * page["top"]
    assert np.abs(found - data.rank_variance).max() <= page["top"] / 65535
    assert unpacked(page["label"]).tolist() == data.labels.tolist()
    kept = unpacked(page["kept"])
    for s, step in enumerate(data.steps):
        assert (kept >> s & 1).astype(bool).tolist() == step.kept.tolist()
        assert page["steps"][s]["size"] == step.kept.sum()
        assert sum(map(sum, page["steps"][s]["byClass"])) == (data.canary == 0).sum()
    assert [q["at"] for q in page["queue"]] == data.queue.tolist()


def test_the_decision_of_flags_and_bits_is_the_decision_of_the_data():
    data = made()
    page = embedded(render(data))
    flags, kept = unpacked(page["flags"]), unpacked(page["kept"])

    def decided(i):  # as the script has it
        if flags[i] >> 2:
            return 4
        if flags[i] & 2:
            return 3
        if flags[i] & 1:
            return 2
        return 0 if kept[i] >> page["chosen"] & 1 else 1

    assert [decided(i) for i in range(data.examples)] == data.decision().tolist()
    assert set(data.decision().tolist()) == {0, 1, 2, 3, 4}


def test_what_is_not_measured_is_said_so():
    plain = replace(ADVICE, checks=(), certificate=(), todo=())
    data = made(canaries=None, contamination_at=None, advice=plain, queue=0, recipe={})
    text = read(render(data)).text
    assert "No checks were made" in text
    assert "No label is up for review." in text
    assert "no canaries were planted" in text
    assert "No recipe was handed over." in text


def test_two_proxies_two_examples_and_equal_scores_can_be_drawn():
    same = np.zeros((2, 2))
    data = report_data(
        Dynamics.from_losses(same),
        title="",
        advice=ADVICE,
        keep=0.5,
        subset_at=lambda f: keep_top([0.0, 0.0], fraction=f),
        labels=[0, 1],
        canaries={"one": np.array([True, False])},
    )
    assert embedded(render(data))["top"] == 0.0


# -- size, bytes, files ----------------------------------------------------------------------------


def heavy(n=50_000):
    """50,000 examples with long ids and noisy pictures, as heavy as the budgets let them be."""
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (2_500, 32, 32, 3), dtype=np.uint8)
    ids = [f"folder/of/images/class_{i % 100:03}/photograph_number_{i:08}.jpeg" for i in range(n)]
    return made(n, classes=100, ids=ids, images=[images[i % 2_500] for i in range(n)])


def test_fifty_thousand_examples_weigh_less_than_eight_megabytes(tmp_path):
    data = heavy()
    assert len(data.details.images) > 1_000
    assert set(data.queue.tolist()) <= set(data.details.images)
    size = write_report(data, tmp_path / "r.html").stat().st_size
    assert size < 8 * MEGABYTE


def test_fifty_thousand_long_texts_weigh_less_than_eight_megabytes_and_every_suspect_is_there():
    story = "a sentence of a letter that somebody wrote " * 12
    ids = [f"letters/of/the/year/number_{i:08}" for i in range(50_000)]
    text = Column([f"{story}{i}" for i in range(997)])
    data = made(50_000, classes=20, ids=ids, table={"text": text, "n": Column(range(997))})
    page = render(data)
    assert len(page.encode()) < 8 * MEGABYTE
    held = embedded(page)
    assert unpacked(held["suspects"]).size == data.suspected.sum() > 7_000
    shown = set(data.details.values)
    first = {c: next(p for p in data.suspects if data.labels[p] == c) for c in range(20)}
    assert set(map(int, first.values())) <= shown


class Column:
    """Few values, repeated."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return 50_000

    def __getitem__(self, at):
        return self.values[int(at) % len(self.values)]


def test_past_a_hundred_thousand_the_points_are_a_sample_and_the_counts_are_not():
    data = made(120_000, queue=50)
    page = embedded(render(data))
    assert page["n"] == 120_000
    assert page["drawn"] == unpacked(page["x"]).size == len(page["ids"]["words"]) == 100_000
    assert page["steps"][-1]["size"] == 120_000
    labels = unpacked(page["label"])
    assert [int(labels[q["at"]]) for q in page["queue"]] == data.labels[data.queue].tolist()
    assert len(render(data)) < 8 * MEGABYTE


def test_the_same_data_are_the_same_bytes_and_other_data_are_not(tmp_path):
    one, two = (write_report(made(), tmp_path / name).read_bytes() for name in "ab")
    assert one == two
    assert write_report(made(keep=0.5), tmp_path / "c").read_bytes() != one


def test_a_file_that_is_there_is_replaced_only_with_force(tmp_path):
    path = tmp_path / "r.html"
    before = write_report(made(), path).read_bytes()
    with pytest.raises(InputError, match=r"exists; .*force"):
        write_report(made(keep=0.5), path)
    assert path.read_bytes() == before
    assert write_report(made(keep=0.5), path, force=True).read_bytes() != before
    assert sorted(p.name for p in tmp_path.iterdir()) == [MANIFEST, "r.html"]
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="so it is yours"):
        write_report(made(), path, force=True)
    assert path.read_text(encoding="utf-8") == "mine"


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        write_report(made(), tmp_path / "absent" / "r.html")
