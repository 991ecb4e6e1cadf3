"""The commands about a user's own data, run as `main` runs them."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from commands import start_dris, until
from dris.core.select.rule_parameters import PARAMETERS
from dris.core.select.rules import RULES
from dris.data.writer import MANIFEST
from made_people import write_people
from made_review import rows_of
from score_tables import read_scores

N = 2000
ROW_NUMBERS = ["--label", "income", "--without", "person,checked"]
FAST = ["--epochs", "6", "--model", "mlp", "--workers", "1"]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A noisy table, where its proxies are kept, and which labels are wrong."""
    folder = tmp_path_factory.mktemp("people")
    wrong = write_people(folder / "people.csv", N)
    return folder / "people.csv", folder / "runs", wrong


@pytest.fixture
def on_people(dris, people, tmp_path):
    """Run a command on the table, with its proxies."""
    data, runs, _ = people
    shared = ["--label", "income", "--id", "person", "--trusted", "checked", *FAST]

    def run(command, *words, out=tmp_path / "out"):
        return dris(command, data, *shared, "--store", runs, "--out", out, *words)

    return run


def test_prune_writes_a_cleaner_table_with_the_same_columns_order_and_lines(
    on_people, people, tmp_path
):
    words = ["prune", "--keep", "0.4", "--skip-harm-check"]
    code, printed, _ = on_people(*words)
    assert code == 0, printed
    source = people[0].read_bytes().splitlines()
    kept = (tmp_path / "out" / "kept.csv").read_bytes().splitlines()
    places = [source.index(line) for line in kept]
    assert places == sorted(places)
    assert places[0] == 0  # the header
    positions = np.array(places[1:]) - 1
    free = positions[positions % 20 > 0]
    assert people[2][free].mean() < people[2].mean() * 0.6
    assert "Next: dris audit draw" in printed
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for shown in ("people.csv", "What was done", "exec"):  # the last a category, decoded
        assert shown in page
    on_people(*words, "--no-report", out=tmp_path / "bare")
    names = sorted(path.name for path in (tmp_path / "bare").iterdir())
    assert names == [MANIFEST, "kept.csv", "prune.toml"]


@pytest.mark.parametrize("rule", ["gated", "rank_variance", "aum_mean", "aum_remove", "random"])
def test_trusted_rows_always_stay_and_none_of_them_is_a_canary(on_people, tmp_path, rule):
    words = ["--keep", "0.25", "--rule", rule, "--as", "ids", "--no-report", "--scores", "--json"]
    code, printed, _ = on_people("prune", *words, "--skip-harm-check")
    marks = read_scores(tmp_path / "out" / "scores.parquet")
    kept = {row["person"] for row in rows_of(tmp_path / "out" / "kept.csv")}
    assert code == 0
    assert len(kept) == json.loads(printed)["kept"]
    assert set(marks.ids[marks.flags["trusted"]]) <= kept
    assert not (marks.flags["trusted"] & marks.flags["canary"]).any()
    assert marks.flags["canary"].sum() == 191  # a tenth of those that nobody vouches for


def test_a_column_marks_the_kept_in_the_whole_table(on_people, tmp_path):
    words = ["--keep", "0.25", "--as", "column", "--rule", "rank_variance", "--no-report"]
    on_people("prune", *words, "--skip-harm-check")
    rows = rows_of(tmp_path / "out" / "kept.csv")
    assert len(rows) == N
    kept = [row for row in rows if row["dris_kept"].lower() == "true"]
    assert 0.2 * N < len(kept) < 0.35 * N
    assert float(rows[0]["dris_rank_variance"]) >= 0


def test_scores_are_written_by_id_with_flags_and_a_recipe(on_people, people, tmp_path):
    code, printed, _ = on_people("clean", "--scores", "--no-report", "--json", "--skip-harm-check")
    table = read_scores(tmp_path / "out" / "scores.parquet")
    assert code == 0
    assert table.ids[:2].tolist() == ["p00000", "p00001"]
    assert {"rank_variance", "aum_mean", "el2n", "forgetting", "p_wrong"} <= set(table.scores)
    files = [Path(name).name for name in json.loads(printed)["files"]]
    assert files[2:] == ["scores.parquet", "recipe.json"]
    suspicious = table.texts["suggested"] != table.texts["given"]
    free = ~table.flags["canary"]
    assert suspicious[free & people[2]].mean() > 0.7
    assert suspicious[free & ~people[2]].mean() < 0.3
    text = (tmp_path / "out" / "recipe.json").read_text(encoding="utf-8")
    recipe = json.loads(text)
    assert text == json.dumps(recipe, sort_keys=True, indent=1) + "\n"
    assert recipe["settings"]["epochs"] == 6
    assert recipe["reading"]["label"] == "income"
    assert len(recipe["data"]["fingerprint"]) == 64


def test_weights_sum_to_one_leave_canaries_out_and_undo_the_draws(on_people, tmp_path):
    words = ["weights", "--rule", "rank_variance", "--smoothing", "0.2", "--skip-harm-check"]
    code, printed, _ = on_people(*words, "--json")
    rows = rows_of(tmp_path / "out" / "weights.csv")
    q = np.array([float(row["probability"]) for row in rows])
    w = np.array([float(row["weight"]) for row in rows])
    assert code == 0
    assert q.sum() == pytest.approx(1)
    assert (q == 0).sum() == (w == 0).sum() == 191
    assert (w[q > 0] * q[q > 0] * (q > 0).sum()) == pytest.approx(1)
    assert w.max() <= 1 + 1 / 0.2 + 1e-9
    assert json.loads(printed)["effective_size"] > 0
    assert on_people(*words, "--as", "parquet")[0] == 0
    assert read_scores(tmp_path / "out" / "weights.parquet").scores["weight"].tolist() == w.tolist()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--rule", "best"], "clean_then_hard"),
        (["--as", "xml"], "--as must be"),
        (["--epochs", "0"], "epochs must be"),
        (["--model", "gpt"], "unknown model 'gpt'"),
        (["--canaries", "yellow"], "canaries must be"),
        (["--canaries", "none", "--rule", "gated"], "needs canaries"),
        (["--at-most", "0.7"], "--at-most must be in"),
        (["--seed", "-1"], "seed"),
        (["--workers", "0"], "workers must be"),
        (["--device", "tpu"], "device must be cpu"),
        (["--missing", "guess"], "missing is 'guess'"),
        (["--label", "wage"], "wage"),
        (["--id", "job"], "ids must differ"),
        (["--without", "shoe"], "shoe"),
        (["--from", "nowhere.npy", "--rule", "gated"], "needs canaries"),
        (["--from", "nowhere.npy", "--rule", "loss"], "nowhere.npy does not exist"),
        (["weights", "--rule", "gated"], "weights need a score"),
        (["weights", "--rule", "rank_varianse"], "(did you mean rank_variance?)"),
        (["weights", "--rule", "el2n", "--exponent", "2"], "weight_exponent must be in"),
        (["prune"], "--keep"),
    ],
)
def test_a_bad_option_is_one_sentence_and_writes_nothing(dris, people, tmp_path, words, says):
    out = tmp_path / "out"
    own = words[0].startswith("--")
    verb, words = (["prune", "--keep", "0.25"], words) if own else (words[:1], words[1:])
    code, printed, told = dris(*verb, people[0], *ROW_NUMBERS, "--out", out, *FAST, *words)
    assert code == 1
    assert printed == ""
    assert says in told
    assert told.count("\n") == 1
    assert not out.exists() or not any(p.is_file() for p in out.rglob("*"))


def test_an_error_of_our_own_is_one_sentence_and_code_70_and_debug_shows_where(
    on_people, monkeypatch
):
    def broken(*_, **__):
        raise RuntimeError("the wheel\nfell off")

    monkeypatch.setattr("dris.pipeline.route.train_ensemble", broken)
    code, _, told = on_people("clean")
    assert (code, told) == (70, "dris: RuntimeError: the wheel (--debug shows where)\n")
    with pytest.raises(RuntimeError, match="fell off"):
        on_people("clean", "--debug")


def test_imported_dynamics_give_scores_and_a_subset_but_no_certificate(
    dris, people, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    loss = np.random.default_rng(0).random((3, N))
    np.save("loss.npy", loss)
    words = [people[0], *ROW_NUMBERS, "--rule", "rank_variance", "--from", "loss.npy"]
    code, printed, _ = dris("prune", *words, "--keep", "0.5", "--json", "--out", "p")
    values = json.loads(printed)
    assert (code, values["kept"], values["limits"], values["judgement"]) == (0, 1000, [], None)
    assert Path("p/report.html").is_file()
    np.save("short.npy", loss[:, :5])
    short = ["prune", *words[:-1], "short.npy", "--keep", "0.5", "--out", "q"]
    assert "the imported dynamics are of 5 examples" in dris(*short)[2]
    for command, name in (("clean --scores", "scores.parquet"), ("weights", "weights.csv")):
        named = [people[0], *ROW_NUMBERS, "--from", "loss.npy", "--out", "w", "--json"]
        code, printed, _ = dris(*command.split(), *named)
        assert (code, json.loads(printed)["rule"]) == (0, "everything")
        assert (Path("w") / name).is_file()
    assert "rank_variance" in read_scores("w/scores.parquet").scores


def test_a_folder_of_images_becomes_a_list_and_a_report_with_pictures(dris, tmp_path):
    from PIL import Image
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    for i in range(800):
        label = (y[i] + 1) % 10 if i % 10 == 0 else y[i]
        folder = tmp_path / "digits" / f"digit-{label}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray((x[i].reshape(8, 8) * 15).astype(np.uint8)).save(folder / f"{i:04d}.png")
    words = ["prune", tmp_path / "digits", "--keep", "0.5", "--rule", "aum_mean", *FAST]
    code, _, told = dris(*words, "--skip-harm-check", "--out", tmp_path / "out")
    assert code == 0, told
    rows = rows_of(tmp_path / "out" / "kept.csv")
    assert 370 < len(rows) <= 400
    wrong = [int(Path(row["path"]).stem) % 10 == 0 for row in rows]
    assert np.mean(wrong) < 0.05
    assert (tmp_path / "out" / rows[0]["path"]).is_file()
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "iVBOR" in page  # PNG, as base64


EVERY_COMMAND = (
    *("clean", "prune", "weights", "review", "rules", "corrupt", "rank", "certify", "runs"),
    *("audit draw", "audit read"),
)


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_help_fits_a_screen_and_its_example_names_real_options(dris, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    _, printed, _ = dris(*command.split(), "--help")
    lines = printed.splitlines()
    assert len(lines) <= 40  # with titles and a blank line for each panel
    assert max(map(len, lines)) <= 80
    _, whole, _ = dris(*command.split(), "--help", "--verbose")
    assert set(re.findall(r"--[a-z]\S*", printed)) - {"--verbose:"} <= set(whole.split())
    example = " ".join(printed.split()).partition("Example: ")[2].partition(" Options:")[0]
    words = shlex.split(example)
    assert words[: 1 + len(command.split())] == ["dris", *command.split()]
    assert all(word in whole for word in words if word.startswith("--"))


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_in_the_same_bytes(people, tmp_path):
    words = ["clean", people[0], *ROW_NUMBERS, "--epochs", "8", "--workers", "1", "--json"]
    words += ["--scores", "--no-report"]
    with start_dris(*words, "--out", "whole", cwd=tmp_path) as child:
        assert child.wait() == 0
    with start_dris(*words, "--out", "cut", cwd=tmp_path) as child:
        until(lambda: child.poll() is not None or any(tmp_path.glob("cut/runs/*/done.json")))
        child.kill()
    assert not (tmp_path / "cut" / "scores.parquet").exists()
    with start_dris(*words, "--out", "cut", cwd=tmp_path) as child:
        proxies = json.loads(child.stdout.read())["proxies"]
    assert proxies["found"] >= 1
    assert proxies["found"] + proxies["trained"] == 3
    for name in ("scores.parquet", "recipe.json"):
        whole, cut = (tmp_path / folder / name for folder in ("whole", "cut"))
        assert whole.read_bytes() == cut.read_bytes()


def test_clean_writes_the_rows_the_suspects_and_the_page(on_people, people, tmp_path):
    code, printed, told = on_people("clean", "--json")
    assert code == 0, told
    values = json.loads(printed)
    source = people[0].read_bytes().splitlines()
    cleaned = (tmp_path / "out" / "cleaned.csv").read_bytes().splitlines()
    places = [source.index(line) for line in cleaned]
    assert places == sorted(places)
    assert (places[0], len(places) - 1) == (0, values["kept"])
    files = [Path(path).name for path in values["files"]]
    assert files == ["cleaned.csv", "issues.csv", "report.html"]
    assert values["keep"] is None
    assert values["kept"] + values["dropped"] == values["examples"] == N
    kept = np.array(places[1:]) - 1
    assert people[2][kept].mean() < people[2].mean() / 2
    issues = rows_of(tmp_path / "out" / "issues.csv")
    assert len(issues) == values["suspects"]
    dropped = {row["id"] for row in issues if row["dropped"] == "yes"}
    assert dropped == {f"p{i:05d}" for i in set(range(N)) - set(kept.tolist())}
    assert "What was done" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    words = ("clean", "--no-report", "--skip-harm-check", "--columns", "all")
    code, printed, _ = on_people(*words, out=tmp_path / "bare")
    assert code == 0
    wide = rows_of(tmp_path / "bare" / "issues.csv")
    written = {row["person"]: row for row in rows_of(people[0])}
    special = {"person", "income"}
    assert special < set(written[wide[0]["id"]])
    for row in wide:
        own = written[row["id"]]
        assert {k: row[k].removeprefix("'") for k in own if k not in special} == {
            k: v for k, v in own.items() if k not in special
        }
    code, _, told = on_people("clean", "--columns", "job,salary", out=tmp_path / "none")
    assert code == 1
    assert "'salary'" in told
    names = sorted(path.name for path in (tmp_path / "bare").iterdir())
    assert names == [MANIFEST, "clean.toml", "cleaned.csv", "issues.csv"]
    assert f"kept {values['kept']:,}" in printed


def test_rules_lists_every_rule_with_its_line(dris):
    code, printed, _ = dris("rules")
    assert code == 0
    listed, _, parameters = printed.partition("\n\n")
    first, *lines = listed.splitlines()
    assert first.startswith("recommended  ")
    assert [line.split()[0] for line in lines] == list(RULES)
    assert [line.split()[0] for line in parameters.splitlines()[1:]] == [
        f"--{name}" for name in PARAMETERS
    ]
    for line, rule in zip(lines, RULES.values(), strict=True):
        assert line.endswith(f"  {rule.about}")
        assert len(line) <= 120


def test_dynamics_that_were_saved_are_imported_whatever_the_file_is_called(dris, people, tmp_path):
    from dris.core.dynamics.dynamics import Dynamics
    from dris.data.reader import read_data

    data = read_data(people[0], label="income", id="person", trusted="checked")
    rng = np.random.default_rng(0)
    order = rng.permutation(N)
    truth = np.where(people[2], 1 - data.labels, data.labels)
    logits = 3 * np.eye(2)[truth] + rng.normal(size=(2, 3, N, 2))
    whole = Dynamics.from_logits(logits[:, :, order], data.labels[order], ids=data.ids[order])
    asked = [people[0], "--label", "income", "--id", "person", "--trusted", "checked", "--json"]
    asked += ["--skip-harm-check", "--no-report"]
    kept = []
    for name, dynamics in (("run.dynamics", whole), ("short.safetensors", whole.summary())):
        path = dynamics.save(tmp_path / name)
        code, printed, told = dris("clean", *asked, "--from", path, "--out", tmp_path / f"o-{name}")
        assert code == 0, told
        values = json.loads(printed)
        assert values["proxies"] == {"found": 0, "trained": 0, "imported": 2}
        kept.append((tmp_path / f"o-{name}" / "cleaned.csv").read_bytes())
        assert abs(values["suspects"] - people[2].sum()) < 0.05 * N
    assert kept[0] == kept[1]
    (tmp_path / "foreign.bin").write_bytes(b"\x05\0\0\0\0\0\0\0{}   ")
    code, _, told = dris(
        "clean", *asked, "--from", tmp_path / "foreign.bin", "--out", tmp_path / "o"
    )
    assert code == 1
    assert told.count("\n") == 1
