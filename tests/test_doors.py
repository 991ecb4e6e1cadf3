"""One decision, whoever asks: a contract over Python, every command, scikit-learn and the page.

The same data and settings give the same rule, rows, limits and notes through every door; a door
that composes for itself is caught.
"""

import ast
import csv
import json
import re
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

import dris as package
from dris.core.select.rules import RULES
from dris.data.reader import read_data
from dris.integrations.sklearn import RobustSelector
from dris.pipeline.route import decide, decide_by
from dris.pipeline.settings import Settings
from dris.report_page.page import report as write_page
from made_report import unpack
from score_tables import read_scores

pytestmark = pytest.mark.usefixtures("harm_measured_once")
FAST = ["--model", "sgd_log", "--epochs", "4", "--workers", "1"]
SETTINGS = Settings(models=("sgd_log",), epochs=4)
KEEPS = (None, 0.25)


def write_rows(path, x, labels, trusted=None, blank=()):
    """A table of numbers with a label, and a column of trusted ones where some are."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        more = [] if trusted is None else ["checked"]
        out.writerow([*(f"x{j}" for j in range(x.shape[1])), "kind", *more])
        for i, row in enumerate(x):
            marks = [] if trusted is None else [int(trusted[i])]
            label = "" if i in blank else f"c{labels[i]}"
            out.writerow([*(f"{value:.6f}" for value in row), label, *marks])
    return path


def blobs(n, *, classes=4, noise=0.15, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    x = rng.normal(size=(n, 5)) + 2.5 * np.eye(classes, 5)[truth]
    wrong = rng.random(n) < noise
    return x, np.where(wrong, (truth + 1) % classes, truth)


@dataclass(frozen=True)
class Case:
    """A file, how commands are asked to read it, and what its data are like."""

    path: Path
    store: Path
    flags: tuple[str, ...] = ("--label", "kind")
    settings: Settings = SETTINGS
    reading: dict = field(default_factory=lambda: {"label": "kind"})

    def data(self):
        return read_data(self.path, **self.reading)


LABEL = ("--label", "kind")
CASES = {
    "noisy": {},
    "two kinds": {
        "flags": (*LABEL, "--canaries", "uniform,confusable"),
        "settings": replace(SETTINGS, canaries=("uniform", "confusable")),
    },
    "no canaries": {
        "flags": (*LABEL, "--canaries", "none"),
        "settings": replace(SETTINGS, canaries=()),
    },
    "no rule is safe": {},
    "trusted": {
        "flags": (*LABEL, "--trusted", "checked"),
        "reading": {"label": "kind", "trusted": "checked"},
    },
    "little data": {},
    "unlabelled": {},
}


def made_case(name, folder):
    x, labels = blobs(40 if name == "little data" else 600)
    if name == "no rule is safe":
        labels = np.random.default_rng(1).permutation(labels)
    trusted = np.arange(600) % 7 == 0 if name == "trusted" else None
    blank = range(0, 600, 29) if name == "unlabelled" else ()
    path = write_rows(folder / f"{name}.csv", x, labels, trusted, blank)
    return Case(path, folder / "runs", **CASES[name])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("doors")


@pytest.fixture(scope="module", params=CASES)
def case(request, folder):
    return made_case(request.param, folder)


def asked(case, keep, **more):
    """The decision through Python: what every other door is held to."""
    how = {"keep": keep, "settings": case.settings, "store": case.store, "workers": 1}
    return decide(case.data(), **{**how, **more})


def as_weighted(decision):
    """The same decision where weights are followed: what they change is said, not what dropping."""
    harm = decision.harm
    return replace(decision, harm=None if harm is None else harm.by("weights", "drop"))


def by_command(dris, case, out, command, keep, *more):
    words = [] if keep is None else ["--keep", keep]
    words += [] if command == "weights" else more
    shared = [*case.flags, *FAST, "--store", case.store, "--out", out]
    code, printed, told = dris(command, case.path, *shared, *words, "--json", "--force")
    assert code == 0, told
    return json.loads(printed)


def rows_in(path, source):
    """Where the rows of a written table stand in its source."""
    places = {line: i for i, line in enumerate(source.read_bytes().splitlines()[1:])}
    return [places[line] for line in path.read_bytes().splitlines()[1:]]


def rows_on(path):
    """What the page shows as kept, of every example, at the chosen step; and its steps' limit."""
    shown = json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"))[1])
    kept = (unpack(shown["kept"]) >> shown["chosen"]) & 1
    return np.flatnonzero(kept).tolist(), shown["steps"][shown["chosen"]], shown


def said(values):
    """A decision's values without what names the door: the file, and what was done with it."""
    facts = {name: text for name, text in values["facts"].items() if name not in ("data", "kept")}
    return {**values, "facts": facts}


def check_values(values, decision):
    """The JSON of a command is the decision's, key by key."""
    for key, value in said(json.loads(json.dumps(decision.to_dict()))).items():
        assert said(values)[key] == value, key


def check_page(path, decision):
    rows, step, shown = rows_on(path)
    assert np.array_equal(rows, decision.kept)  # no diff of thousands of rows: it takes minutes
    assert step["limit"] == (
        None if decision.limit is None else pytest.approx(decision.limit.share)
    )
    names = [shown["classes"][label] for label in unpack(shown["label"])]
    assert np.array_equal(names, [decision.data.names[label] for label in decision.data.labels])
    sealed = json.loads(shown["sample"]["sealed"])
    assert sealed["size"] == decision.kept.size
    assert decision.rule in path.read_text(encoding="utf-8")


def check_issues(path, decision):
    """Every suspect, then every row without a label."""
    with path.open(newline="", encoding="utf-8") as file:
        listed = list(csv.DictReader(file))
    suspects = [] if decision.suspects is None else decision.suspects
    aside = decision.unlabelled()
    assert [row["id"] for row in listed] == [str(one.id) for one in suspects] + [
        str(name) for name in aside["id"]
    ]
    behind = listed[len(suspects) :]
    assert [row["suggested"] for row in behind] == aside["suggested"]
    assert all(row["given"] == "" and row["dropped"] == "yes" for row in behind)


def through_command(dris, case, out, command, keep, decision):
    values = by_command(dris, case, out, command, keep, "--scores")
    check_values(values, as_weighted(decision) if command == "weights" else decision)
    assert values["command"] == command
    if command == "clean":
        check_issues(out / "issues.csv", decision)
    if command != "weights":
        written = out / {"clean": "cleaned.csv", "prune": "kept.csv"}[command]
        assert rows_in(written, case.path) == decision.data.rows[decision.kept].tolist()
        check_page(out / "report.html", decision)
        scores = read_scores(out / "scores.parquet")
        assert (scores.scores["p_wrong"] == decision.p_wrong).all()
        assert (scores.flags["canary"] == decision.ensemble.planted).all()
    else:
        with (out / "weights.csv").open(newline="", encoding="utf-8") as file:
            written = [float(row["weight"]) for row in csv.DictReader(file)]
        assert written == pytest.approx(decision.sample_weight.tolist(), rel=1e-5)


def through_sklearn(case, keep, decision):
    data = case.data()
    selector = RobustSelector(
        keep=keep, model="sgd_log", epochs=4, store=case.store, random_state=0, n_jobs=1
    )
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("always")
        selector.fit(data.x, data.given())
    assert selector.kept_.tolist() == decision.mask.tolist()
    assert selector.rule_ == decision.rule
    assert said(selector.decision_.to_dict()) == said(decision.to_dict())
    assert selector.decision_.limits == decision.limits
    told = " ".join(str(warning.message) for warning in printed)
    assert all(note in told for note in decision.notes)


DOORS = {"clean": None, "prune": 0.25, "weights": None}


@pytest.mark.parametrize(("command", "keep"), DOORS.items())
def test_every_command_shows_the_decision(dris, case, tmp_path, command, keep):
    through_command(dris, case, tmp_path, command, keep, asked(case, keep))


@pytest.mark.parametrize(("verb", "keep"), DOORS.items())
def test_a_verb_of_python_makes_and_writes_what_the_command_does_to_the_byte(
    dris, case, tmp_path, verb, keep
):
    by_command(dris, case, tmp_path / "command", verb, keep, "--scores")
    share = {} if keep is None else {"keep": keep}
    how = {"settings": case.settings, "store": case.store, "workers": 1}
    decision = getattr(package, verb)(case.path, **case.reading, **share, **how)
    expected = asked(case, keep)
    expected = as_weighted(expected) if verb == "weights" else expected
    assert said(decision.to_dict()) == said(expected.to_dict())
    paths = decision.write(tmp_path / "python", scores=True)
    for path in paths:  # the page names its own folder: what to type next
        written = path.read_bytes().replace(b"/python<", b"/command<")
        assert written == (tmp_path / "command" / path.name).read_bytes(), path.name
    assert len(paths) == {"clean": 5, "prune": 4, "weights": 1}[verb]


@pytest.mark.parametrize("keep", KEEPS)
def test_scikit_learn_makes_the_decision(case, keep):
    if "trusted" in case.reading or case.settings != SETTINGS:
        pytest.skip("the estimators have no such option")
    if case.data().unlabelled is not None:
        pytest.skip("an estimator is given a label for every row, and refuses y without")
    through_sklearn(case, keep, asked(case, keep))


@pytest.mark.parametrize("keep", KEEPS)
def test_the_page_by_itself_shows_the_decision(case, keep, tmp_path):
    decision = asked(case, keep)
    check_page(write_page(decision, tmp_path / "page.html"), decision)


@pytest.mark.usefixtures("harm_not_measured")
@pytest.mark.parametrize("rule", ["rank_variance", "gated", "aum_mean"])
def test_a_rule_by_name_is_the_same_rule_through_every_door(dris, folder, tmp_path, rule):
    case = made_case("noisy", folder)
    decision = asked(case, 0.5, rule=rule)
    check_values(by_command(dris, case, tmp_path, "prune", 0.5, "--rule", rule), decision)
    assert rows_in(tmp_path / "kept.csv", case.path) == decision.kept.tolist()
    data = case.data()
    selector = RobustSelector(keep=0.5, rule=rule, model="sgd_log", epochs=4, store=case.store)
    assert said(selector.fit(data.x, data.given()).decision_.to_dict()) == said(decision.to_dict())


def test_the_cases_differ_in_what_they_ask_of_a_door(folder):
    decision = {name: [asked(made_case(name, folder), keep) for keep in KEEPS] for name in CASES}
    for cleaned, pruned in [decision[name] for name in ("noisy", "two kinds", "trusted")]:
        assert cleaned.rule == "clean"
        assert pruned.rule in RULES
        assert cleaned.kept.size > 3 * pruned.kept.size / 2
        assert cleaned.limits
        assert pruned.limits
    assert [len(one.limits) for one in decision["two kinds"]] == [2, 2]
    assert [one.judgement for one in decision["no canaries"]] == [None, None]
    for one in decision["no rule is safe"]:
        assert (one.rule, one.kept.size) == ("everything", 600)
        assert one.notes[-1].startswith("no rule is safe with these proxies")
    for one in decision["unlabelled"]:
        assert one.data.unlabelled.rows.tolist() == list(range(0, 600, 29))
        assert not np.isin(one.data.rows[one.kept] % 29, 0).any()
        assert all(part in " ".join(one.notes) for part in ("21 rows", "18 more"))
    for one in decision["trusted"]:
        assert one.mask[np.arange(600) % 7 == 0].all()
    for one in decision["little data"]:
        assert (one.rule, one.kept.size) == ("everything", 40)
        assert "too few to drop any" in one.notes[-1]


def test_where_no_rule_is_safe_every_command_says_so(dris, folder, tmp_path):
    case = made_case("no rule is safe", folder)
    for command, words in (("clean", []), ("prune", ["--keep", 0.25])):
        shared = [*case.flags, *FAST, "--store", case.store, "--out", tmp_path / command]
        code, printed, _ = dris(command, case.path, *shared, *words)
        assert code == 0
        assert "do not predict" in printed
        assert "probably wrong" not in printed


def test_proxies_are_trained_once_for_all_doors(dris, folder, tmp_path):
    case = made_case("noisy", folder)
    asked(case, None)
    values = by_command(dris, case, tmp_path, "prune", 0.25)
    assert values["proxies"] == {"found": 3, "trained": 0, "imported": 0}


def of_its_own(data, *, keep=None, rule="recommended", **how):
    """A decision as a door might compose it: by the paper's rule, whatever the data suggest."""
    decision = decide(data, keep=keep, rule=rule, **how)
    return decide_by(decision.ensemble, keep=keep or 0.9, rule="rank_variance")


def with_the_judgements_limits(data, *, keep=None, rule="recommended", **how):
    """Right rows, but the limit of another subset, as was printed once; of a better one."""
    decision = decide(data, keep=keep, rule=rule, **how)
    other = decide_by(decision.ensemble, keep=0.5, rule="rank_variance")
    limits = tuple(replace(one, wrong=1) for one in other.limits)
    return replace(decision, limits=limits, contradicted=0.0)


def without_notes(data, *, keep=None, rule="recommended", **how):
    return replace(decide(data, keep=keep, rule=rule, **how), notes=())


@pytest.mark.parametrize("door", [*DOORS, "sklearn"])
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("noisy", of_its_own),
        ("noisy", with_the_judgements_limits),
        ("no rule is safe", without_notes),
    ],
)
def test_a_door_that_composes_for_itself_or_keeps_a_note_is_caught(
    dris, folder, tmp_path, monkeypatch, door, name, wrong
):
    case, keep = made_case(name, folder), DOORS.get(door, 0.25)
    decision = asked(case, keep)
    for home in ("pipeline.route", "integrations.sklearn"):  # what the commands and it call
        monkeypatch.setattr(f"dris.{home}.decide", wrong)
    through, where = through_command, (dris, case, tmp_path, door)
    if door == "sklearn":
        through, where = through_sklearn, (case,)
    with pytest.raises(AssertionError):
        through(*where, keep, decision)


def test_a_page_that_chooses_for_itself_is_caught(folder, tmp_path):
    case = made_case("noisy", folder)
    decision = asked(case, 0.25)
    others = decide_by(decision.ensemble, keep=0.25, rule="loss").kept
    with pytest.raises(AssertionError):
        check_page(write_page(replace(decision, kept=others), tmp_path / "other.html"), decision)
    planted = replace(decision.data, labels=decision.ensemble.canaries[-1].planted)
    with pytest.raises(AssertionError):  # planted labels shown as the given ones
        check_page(write_page(replace(decision, data=planted), tmp_path / "planted.html"), decision)


COMPOSING = {
    *("choose", "judge", "assess", "run_checks", "choose_rows", "list_suspects"),
    *("data_limits", "subset_limits", "contamination_limit", "corruption_limit"),
    *("train_ensemble", "decide_by", "plant_canaries", "keep_top"),
}
ROOT = Path(package.__file__).parent
DOOR_FILES = (
    *sorted((ROOT / "cli").glob("*.py")),
    *sorted((ROOT / "report_page").glob("*.py")),
    ROOT / "integrations" / "sklearn.py",
)


def composed(source):
    """What a file imports of the steps between dynamics and a decision."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in nodes for alias in node.names}
    return names & COMPOSING


def test_no_door_imports_a_step_of_the_route():
    assert {
        str(path): decision
        for path in DOOR_FILES
        if (decision := composed(path.read_text(encoding="utf-8")))
    } == {}
    assert len(DOOR_FILES) > 8


def test_the_import_check_would_see_one():
    assert composed("def f():\n    from dris.core.select.rules import choose") == {"choose"}
    assert composed("from dris.pipeline.decision import Decision, decide") == set()
