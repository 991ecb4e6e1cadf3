"""`dris audit` and `dris corrupt` as a user meets them."""

import csv
import io
import json
import re

import numpy as np
import pytest

from dris.core.certify.random_audit import audit_limit
from made_review import fill_in, rows_of

N = 300


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with data.csv: two blobs, text ids, a column of text and one of numbers."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["name,height,weight,kind"]
    for i in range(N):
        x = rng.normal(size=2) + (4 if i % 2 else 0)
        lines.append(f"r{i},{x[0]:.3f},{x[1]:.3f},{'dog' if i % 2 else 'cat'}")
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


COLUMNS = ("--label", "kind", "--id", "name")


def refused(done, says):
    code, out, err = done
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert says in err


def drawn(dris, here, n=40):
    code, out, _ = dris("audit", "draw", "data.csv", *COLUMNS, "--n", n, "--json")
    assert code == 0
    assert json.loads(out)["n"] == n
    return here / "audit.csv"


def test_an_audit_without_a_wrong_label_gives_the_exact_limit(dris, here):
    fill_in(drawn(dris, here), "right")
    code, out, _ = dris("audit", "read", "audit.csv", "--json")
    assert code == 0
    values = json.loads(out)
    assert values["limit"] == audit_limit(size=N, checked=40, wrong=0).limit
    assert (values["size"], values["checked"], values["wrong"]) == (N, 40, 0)


def test_a_wished_limit_draws_as_many_as_prove_it_and_not_one_fewer(dris, here):
    _, out, _ = dris("audit", "draw", "data.csv", *COLUMNS, "--limit", "0.1", "--json")
    n = json.loads(out)["n"]
    assert audit_limit(size=N, checked=n, wrong=0).share <= 0.1
    assert audit_limit(size=N, checked=n - 1, wrong=0).share > 0.1


def test_the_draw_depends_on_the_seed_alone(dris, here):
    first = drawn(dris, here).read_bytes()
    for seed, same in ((0, True), (1, False)):
        dris("audit", "draw", "data.csv", *COLUMNS, "--n", 40, "--seed", seed, "--force")
        assert ((here / "audit.csv").read_bytes() == first) is same


def test_an_altered_audit_has_no_limit(dris, here):
    path = drawn(dris, here)
    fill_in(path, "right")
    whole = path.read_text(encoding="utf-8")
    sealed = (here / "audit.json").read_text(encoding="utf-8")
    for name, text, says in (
        ("audit.csv", whole + "r9999,cat,,right,,1,2\n", "was not drawn"),
        ("audit.csv", whole.replace(",cat,", ",dog,", 1), "leave that column"),
        ("audit.json", sealed.replace(f'"size": {N}', '"size": 41'), "altered"),
        ("audit.json", "[]", "draw again"),
    ):
        path.write_text(whole, encoding="utf-8")
        (here / name).write_text(text, encoding="utf-8")
        refused(dris("audit", "read", "audit.csv"), says)
    (here / "audit.json").unlink()
    refused(dris("audit", "read", "audit.csv"), "is not there")
    (here / "audit.json").write_text(sealed, encoding="utf-8")
    assert dris("audit", "read", "audit.csv")[0] == 0


def as_exported(page, answer="right"):
    """The sample of a report as its button exports it, every answer alike."""
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    sample = data["sample"]
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(["id", "given", "suggested", "answer", "corrected", sample["sealed"]])
    for name, given in json.loads(sample["sealed"])["drawn"]:
        writer.writerow([name, given, "", answer, "", ""])
    return out.getvalue(), sample["limits"]


def test_the_reports_random_sample_is_an_audit_of_what_was_kept(dris, here):
    words = ("--rule", "rank_variance", "--keep", "0.5", "--epochs", 2, "--model", "sgd_log")
    words += ("--skip-harm-check",)
    _, out, _ = dris("prune", "data.csv", *COLUMNS, *words, "--json")
    kept = {row["name"]: row["kind"] for row in rows_of(here / "dris-out" / "kept.csv")}
    text, limits = as_exported((here / "dris-out" / "report.html").read_text(encoding="utf-8"))
    (here / "got.csv").write_text(text, encoding="utf-8")
    code, printed, _ = dris("audit", "read", "got.csv", "--json")
    assert code == 0
    values = json.loads(printed)
    size = json.loads(out)["kept"]
    assert (values["size"], values["checked"], values["wrong"]) == (size, 60, 0)
    assert values["share"] == audit_limit(size=size, checked=60, wrong=0).share == limits[0]
    assert all(kept[row["id"]] == row["given"] for row in rows_of(here / "got.csv"))
    # A file beside it of another draw does not count, and its own seal must be whole.
    (here / "got.json").write_text("{}", encoding="utf-8")
    assert dris("audit", "read", "got.csv", "--json")[1] == printed
    (here / "got.csv").write_text(
        text.replace(f'""size"": {size}', '""size"": 61'), encoding="utf-8"
    )
    refused(dris("audit", "read", "got.csv"), "altered")
    (here / "got.csv").write_text("".join(text.splitlines(keepends=True)[:-1]), encoding="utf-8")
    refused(dris("audit", "read", "got.csv"), "stopped early")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--n", 5, "--limit", 0.1), "one of them"),
        (("--n", N + 1), "at most"),
        (("--limit", 0.01, "--expect-wrong", 9), "raise"),
    ],
)
def test_bad_sizes_are_refused(dris, here, words, says):
    refused(dris("audit", "draw", "data.csv", *COLUMNS, *words), says)
    assert not (here / "audit.csv").exists()


@pytest.mark.parametrize("kind", ["uniform", "targeted", "pair", "instance"])
def test_every_kind_flips_the_stated_share_and_keeps_the_truth_apart(dris, here, kind):
    words = ("data.csv", *COLUMNS, "--rate", 0.1, "--kind", kind, "--out", "noisy.csv", "--json")
    code, out, _ = dris("corrupt", *words)
    assert (code, json.loads(out)["flipped"]) == (0, N // 10)
    noisy = rows_of(here / "noisy.csv")
    truth = rows_of(here / "noisy-truth.csv")
    clean = rows_of(here / "data.csv")
    assert noisy[0].keys() == clean[0].keys()
    for n, t, c in zip(noisy, truth, clean, strict=True):
        assert (n["name"], t["kind_true"]) == (c["name"], c["kind"])
        assert (n["kind"] != c["kind"]) == (t["flipped"] == "True")


def test_a_matrix_decides_which_class_becomes_which(dris, here):
    (here / "matrix.csv").write_text("true,cat,dog\ncat,0.6,0.4\ndog,0,1\n", encoding="utf-8")
    words = ("--kind", "transition", "--matrix", "matrix.csv", "--out", "noisy.csv", "--json")
    code, out, _ = dris("corrupt", "data.csv", *COLUMNS, *words)
    assert code == 0
    truth = rows_of(here / "noisy-truth.csv")
    flipped = [row["kind_true"] for row in truth if row["flipped"] == "True"]
    assert set(flipped) == {"cat"}
    # 150 draws of probability 0.4: outside 35..85 with probability below 1e-4.
    assert 35 <= len(flipped) == json.loads(out)["flipped"] <= 85


def test_trusted_labels_are_never_flipped(dris, here):
    rows = (here / "data.csv").read_text(encoding="utf-8").splitlines()
    marked = [f"{row},{'checked' if not i else int(i <= 250)}" for i, row in enumerate(rows)]
    (here / "data.csv").write_text("\n".join(marked) + "\n", encoding="utf-8")
    words = ("data.csv", *COLUMNS, "--trusted", "checked", "--rate", 0.5, "--out", "noisy.csv")
    assert dris("corrupt", *words)[0] == 0
    truth = rows_of(here / "noisy-truth.csv")
    assert [row["flipped"] for row in truth[:250]] == ["False"] * 250
    assert sum(row["flipped"] == "True" for row in truth[250:]) == 25


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--kind", "evil"), "--kind"),
        (("--kind", "transition"), "go together"),
        (("--matrix", "data.csv"), "go together"),
        (("--kind", "transition", "--matrix", "data.csv"), "must name every class"),
        (("--out", "data.csv", "--force"), "never replaced"),
        (("--out", "noisy.parquet"), ".csv"),
    ],
)
def test_a_corruption_that_cannot_be_is_refused_and_nothing_written(dris, here, words, says):
    refused(dris("corrupt", "data.csv", *COLUMNS, "--out", "noisy.csv", *words), says)
    assert [path.name for path in here.iterdir()] == ["data.csv"]
