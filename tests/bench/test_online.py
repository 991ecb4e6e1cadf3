"""The online comparison, at the size of a smoke test on made-up images."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from dris.bench.paper import online  # noqa: E402
from dris.data.known import KnownData  # noqa: E402

TINY = online.Setting(
    examples=120,
    tests=40,
    target="linear",
    epochs=2,
    proxies=("linear", "fc"),
    proxy_epochs=2,
    attacker="linear",
    attacker_epochs=1,
    reference="linear",
    reference_epochs=2,
    seeds=(0, 1),
)


def made_up(name, *, data_dir=None):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (300, 1, 8, 8)).astype(np.uint8)
    y = np.arange(300) % 10
    x[np.arange(300), 0, 0, y % 8] = 255
    return KnownData(name, x[:200], y[:200], x[200:], y[200:], tuple("0123456789"), "", "", "")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(online, "load", made_up)
        seen = []
        out = online.run(
            TINY,
            store=tmp_path_factory.mktemp("store"),
            workers=1,
            progress=lambda done, total: seen.append((done, total)),
        )
    assert seen[-1] == (56, 56)
    return out


def test_every_plan_stands_at_both_exponents_under_both_rates_and_every_seed(found):
    cells = {(r["plan"], r["exponent"], r["rate"], r["seed"]) for r in found["runs"]}
    assert len(cells) == len(found["runs"]) == 13 * 2 * 2
    assert {plan for plan, *_ in cells} == set(online.NAMES)
    attacked = [r["log"][0]["sampled"]["flagged_mass"] for r in found["runs"] if r["rate"]]
    assert all(mass is not None for mass in attacked)


def test_the_table_has_a_row_per_plan_and_exponent_and_the_papers_numbers(found):
    text = online.table(found)
    assert text.count("\n| ") == 1 + 13
    assert "84.04 ± 0.35" in text
    assert text.count("Against uniform draws") == 2
    uniform = [100 * r["accuracy"] for r in found["runs"] if online._cell(r) == ("uniform", 1, 0.0)]
    assert f"{np.mean(uniform):.2f} ± {np.std(uniform, ddof=1):.2f} (2)" in text


def test_record_page_and_figure_are_written_and_a_diverged_run_stays_in_them(found, tmp_path):
    pytest.importorskip("matplotlib")
    runs = [dict(r) for r in found["runs"]]
    runs[0] = {**runs[0], "status": "diverged", "accuracy": 0.1, "log": []}
    record, page, figure = online.write({**found, "runs": runs}, tmp_path)
    assert json.loads(record.read_text())["runs"][0]["status"] == "diverged"
    assert "1 of 4" in page.read_text()
    assert figure.stat().st_size > 10_000
