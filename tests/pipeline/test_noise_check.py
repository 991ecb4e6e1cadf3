"""The gate on the noise rate: three answers, the same from Python and the command line."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dris as package
from dris.core.errors import InputError
from dris.core.noise.posterior import NoiseRate
from dris.data.labelled import Leak
from dris.pipeline.noise_check import check_noise

ROOT = Path(__file__).parents[2]
HOW = {"workers": 1, "settings": package.Settings(epochs=6)}


def classes_apart(n=400, wrong=0.0, classes=2, apart=5):
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    x = rng.normal(size=(n, classes)) + apart * np.eye(classes)[y]
    other = (y + rng.integers(1, classes, size=n)) % classes
    return x, np.where(rng.permutation(n) < wrong * n, other, y)


@pytest.fixture(scope="module")
def decision():
    return package.clean(*classes_apart(wrong=0.1), check_harm=False, **HOW)


@pytest.mark.parametrize(
    ("low", "high", "says", "natural"),
    [
        (0.01, 0.05, "fine", "cannot tell"),
        (0.01, 0.0501, "cannot tell", "cannot tell"),
        (0.05, 0.2, "cannot tell", "cannot tell"),
        (0.0501, 0.2, "above", "above"),
    ],
)
def test_the_answer_follows_from_the_ends_of_the_range(decision, low, high, says, natural):
    known = replace(decision, noise_rate=NoiseRate(low, high, (low + high) / 2), judgement=None)
    assert check_noise(known, 0.05).says == says
    assert check_noise(replace(known, natural=True), 0.05).says == natural


def test_data_that_cannot_show_wrong_labels_gets_no_answer(decision):
    rng = np.random.default_rng(0)
    x, rare = rng.normal(size=(2000, 4)), (rng.random(2000) < 0.05).astype(int)
    for data, word in [
        ((x, rare), "predict"),  # its range ends below the limit, for one class is rare
        (classes_apart(n=40), "least"),
    ]:
        done = package.check(*data, max_noise=0.05, **HOW)
        assert (done.says, word in done.reason) == ("cannot tell", True), done
    leaky = replace(decision.data, leaks=(Leak("a", 1.0, left_out=False),))
    done = check_noise(replace(decision, data=leaky, noise_rate=None), 0.5)
    assert (done.says, "without" in done.reason) == ("cannot tell", True)
    no_folds = replace(HOW["settings"], folds=None)
    done = package.check(*classes_apart(apart=2), max_noise=0.05, workers=1, settings=no_folds)
    assert (done.says, "folds" in done.reason) == ("cannot tell", True)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("gate") / "data.csv"
    x, y = classes_apart(n=2500, wrong=0.2, classes=4)
    rows = (",".join(map(str, (*row, label))) for row, label in zip(x, y, strict=True))
    path.write_text("\n".join(["a,b,c,d,y", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("limit", "code"), [("40%", 0), ("5%", 1), ("0.2", 2)])
def test_the_exit_code_of_the_hook_is_the_answer_that_python_gives(
    dris, table, limit, code, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (entry,) = re.findall(r"entry: (.+)", (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    words = [*shlex.split(entry)[1:], "--label", "y", "--max-noise", limit, "--workers", "1"]
    store = table.with_name("runs")
    words += ["--epochs", "6", "--store", store, "--json"]  # pre-commit adds the files behind
    ended, printed, error = dris(*words, table)
    share = float(limit[:-1]) / 100 if limit.endswith("%") else float(limit)
    done = package.check(table, label="y", max_noise=share, store=store, **HOW)
    assert (ended, done.exit_code) == (code, code), error
    assert json.loads(printed) == {"command": "check", **done.to_dict()}
    assert str(done) in error


@pytest.mark.parametrize(
    "words",
    [
        ["--max-noise", "5"],
        ["--max-noise", "0"],
        ["--max-noise", "much"],
        ["--max-noise", "5%", "--lable", "y"],
        ["--max-noise", "5%", "--label", "z"],
        ["--max-noise", "5%", "--config", "nowhere.toml"],
        [],
    ],
)
def test_a_mistake_is_no_answer(dris, table, words):
    code, printed, error = dris("check", table, *words)
    assert (code, printed) == (3, "")
    assert error


@pytest.mark.parametrize("limit", [0.0, 1.0, 5.0, float("nan")])
def test_a_limit_that_is_no_share_is_refused_before_anything_is_read(limit):
    with pytest.raises(InputError, match="max_noise"):
        package.check("nowhere.csv", max_noise=limit)


def test_the_workflow_and_the_hook_are_yaml_that_calls_the_command():
    yaml = pytest.importorskip("yaml")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert {"id", "name", "entry", "language"} <= hook.keys()
    flow = yaml.safe_load((ROOT / "examples/github_check.yml").read_text("utf-8"))
    (job,) = flow["jobs"].values()
    assert job["steps"][-1]["run"].startswith("dris check ")
    page = (ROOT / "docs/guides/check-in-ci.md").read_text("utf-8")
    (shown,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    assert yaml.safe_load(shown)["repos"][0]["hooks"][0]["id"] == hook["id"]
