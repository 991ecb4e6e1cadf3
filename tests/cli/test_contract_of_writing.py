"""No command destroys what it did not write: every command, aimed at its inputs and at others'.

A command that writes has an entry in `WRITES`: its words, the files they would write, and ways to
aim them at what it reads. One without an entry fails the first test.
"""

import ast
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.main import get_command

import dris as package
from commands import run_dris
from dris.cli import app
from dris.data.writer import MANIFEST, OWN, Writer
from dris.learn.ranking import rank_shards as sharded
from made_shards import losses_of, write_shards

PRECIOUS = b"what somebody wrote\n"
HEX = "0123456789abcdef0123456789abcdef"
ROOT = Path(__file__).parents[2]
COLUMNS = "--label kind --id name"
FAST = f"{COLUMNS} --epochs 1 --model sgd_log --proxies 2 --workers 1 --store store"


@dataclass(frozen=True)
class Case:
    """A command line that would write `outputs`; lines that aim at what they read, and at what."""

    words: str
    outputs: tuple[str, ...]
    aimed: tuple[tuple[str, str], ...] = ()
    force: bool = True


WRITES = {
    "prune": Case(
        f"prune data.csv {FAST} --rule loss --keep 0.5 --out o",
        ("o/kept.csv", "o/report.html"),
        (
            (f"prune mine/kept.csv {FAST} --rule loss --keep 0.5 --out mine", "mine"),
            (f"prune tables {FAST} --rule loss --keep 0.5 --out tables", "tables"),
            (f"prune tables/*.csv {FAST} --rule loss --keep 0.5 --out tables", "tables"),
        ),
    ),
    "clean": Case(
        f"clean data.csv {FAST} --scores --out o",
        (
            *("o/cleaned.csv", "o/issues.csv", "o/report.html"),
            *("o/scores.parquet", "o/recipe.json"),
        ),
        (
            (f"clean mine/cleaned.csv {FAST} --out mine", "mine"),
            (
                f"clean alone/scores.parquet {FAST} --scores --label given --id id --out alone",
                "alone",
            ),
            (f"clean data.csv {FAST} --from page/report.html --out page", "page"),
        ),
    ),
    "weights": Case(
        f"weights data.csv {FAST} --out o",
        ("o/weights.csv",),
        ((f"weights mine/weights.csv {FAST} --out mine", "mine"),),
    ),
    "review": Case(
        f"review data.csv {FAST} --import review.csv --export o/tasks.csv --out o",
        ("o/tasks.csv", "o/corrected.csv"),
        (
            (f"review mine/kept.csv {FAST} --export mine/kept.csv", "mine"),
            (f"review data.csv {FAST} --import mine/review.csv --export mine/review.csv", "mine"),
        ),
    ),
    "audit draw": Case(
        f"audit draw data.csv {COLUMNS} --n 3 --out o/a.csv",
        ("o/a.csv", "o/a.json"),
        (
            (f"audit draw mine/kept.csv {COLUMNS} --n 3 --out mine/kept.csv", "mine"),
            (f"audit draw mine/kept.csv {COLUMNS} --n 3 --out mine/../mine/kept.csv", "mine"),
        ),
    ),
    "corrupt": Case(
        f"corrupt data.csv {COLUMNS} --out o/noisy.csv",
        ("o/noisy.csv", "o/noisy-truth.csv"),
        (
            (f"corrupt mine/kept.csv {COLUMNS} --out mine/kept.csv", "mine"),
            (
                f"corrupt data.csv {COLUMNS} --kind transition --matrix mine/x-truth.csv "
                "--out mine/x.csv",
                "mine",
            ),
        ),
    ),
    "rank": Case(
        "rank losses --workers 1 --keep 0.5 --out o",
        ("o/plan.json", "o/ranked.json", "o/scores-00000.parquet", "o/kept-00000.parquet"),
        (("rank rk/*.parquet --workers 1 --out rk", "rk"), ("rank rk --workers 1 --out rk", "rk")),
    ),
}
# What these write lies under names drawn from a hash, or is not there yet; see their own tests.
KEEPS = {"runs", "check"}
SILENT = {"certify": "certify", "rules": "rules", "audit read": "audit read audit.csv"}


def commands(group, before=""):
    """The names of all commands, those of groups inside as two words."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"


def uncovered(of):
    """Commands that say nothing here about what they write."""
    return set(commands(get_command(of))) - {*WRITES, *KEEPS, *SILENT}


def test_every_command_has_an_entry_here_and_every_entry_a_command():
    assert uncovered(app) == set()
    assert {*WRITES, *KEEPS, *SILENT} == set(commands(get_command(app)))


def test_a_command_without_an_entry_is_noticed():
    inner = typer.Typer()
    inner.command("draw")(lambda: None)
    inner.command("burn")(lambda: None)
    more = typer.Typer()
    more.command("shred")(lambda: None)
    more.add_typer(inner, name="audit")
    assert uncovered(more) == {"shred", "audit burn"}


def bytes_below(folder):
    """Every file but those of the machinery, by its path from the folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and "store" not in path.parts
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Data, scores, a review and losses, and the same again as outputs of dris under `mine`."""
    root = tmp_path_factory.mktemp("world")
    rng = np.random.default_rng(0)
    lines = ["name,height,mass,kind"]
    for i in range(120):
        x = rng.normal(size=2) + (4 if i % 2 else 0)
        lines.append(f"r{i},{x[0]:.3f},{x[1]:.3f},{'dog' if i % 2 else 'cat'}")
    (root / "data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_shards(root / "losses", losses_of(90), shards=1)
    (root / "records").mkdir()

    def run(words):
        done = subprocess_dris(words, root)
        assert done.returncode == 0, done.stderr

    run(f"clean data.csv {FAST} --canaries none --scores --no-report --out scored")
    run(f"audit draw data.csv {COLUMNS} --n 3 --out audit.csv")
    text = (root / "audit.csv").read_text(encoding="utf-8").splitlines()
    filled = [",".join([*line.split(",")[:3], "right", *line.split(",")[4:]]) for line in text[1:]]
    (root / "audit.csv").write_text("\n".join([text[0], *filled]) + "\n", encoding="utf-8")
    (root / "review.csv").write_text(
        (root / "audit.csv").read_text(encoding="utf-8"), encoding="utf-8"
    )
    # Whatever is a file of `mine` or `rk` was written by dris, so that only being read saves it.
    data, made = (root / "data.csv").read_bytes(), root / "mine"
    made.mkdir()
    for name in ("rk", "tables", "alone", "page"):
        (root / name).mkdir()
    shard = (root / "losses/part-0.parquet").read_bytes()
    for path, content in {
        "mine/kept.csv": data,
        "mine/cleaned.csv": data,
        "mine/weights.csv": data,
        "mine/review.csv": (root / "review.csv").read_bytes(),
        "page/report.html": data,
        "mine/x-truth.csv": data,
        "tables/kept.csv": data,
        "alone/scores.parquet": (root / "scored/scores.parquet").read_bytes(),
        "rk/scores-00000.parquet": shard,
    }.items():
        OWN.write(root / path, [content])
    return root


@pytest.fixture
def here(world, tmp_path, monkeypatch):
    """A copy of the world to stand in."""
    shutil.copytree(world, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def subprocess_dris(words, folder):
    return run_dris(*words.split(), cwd=folder)


def broken(done, before, folder, *, refused=True):
    """What a finished command did against the promise, in words."""
    code, _, printed = done
    after = bytes_below(folder)
    problems = [f"{name} was changed" for name in before if after.get(name) != before[name]]
    if refused and code != 1:
        problems.append(f"exit code {code}, not 1")
    if refused and (not printed.startswith("dris: ") or printed.count("\n") != 1):
        problems.append(f"not one sentence: {printed}")
    if refused and not any(word in printed for word in ("never replaced", "--force")):
        problems.append(f"not the refusal: {printed}")
    return problems


def lines(case, words):
    return [words, f"{words} --force"] if case.force else [words]


@pytest.mark.parametrize("name", WRITES)
def test_a_file_that_others_wrote_is_never_replaced(name, dris, here):
    case = WRITES[name]
    for output in case.outputs:
        path = here / output
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PRECIOUS)
        before = bytes_below(here)
        for words in lines(case, case.words):
            done = dris(*words.split())
            assert broken(done, before, here) == [], words
            assert f"{Path(output).name} was not written" in done[2], words
        path.unlink()


@pytest.mark.parametrize("name", [name for name, case in WRITES.items() if case.aimed])
def test_what_a_command_reads_is_never_replaced_though_dris_wrote_it(name, dris, here):
    for words, watched in WRITES[name].aimed:
        before = bytes_below(here / watched)
        for line in lines(WRITES[name], words):
            done = dris(*line.split())
            assert broken(done, before, here / watched) == [], line
            assert "input of this command" in done[2] or "which this command reads" in done[2], line


@pytest.mark.parametrize("name", WRITES)
def test_its_own_outputs_are_replaced_when_asked_and_never_once_edited(name, dris, here):
    case = WRITES[name]
    first = case.words.split()
    assert dris(*first)[0] == 0
    assert all((here / output).is_file() for output in case.outputs)
    wrote = {Path(n).name for n in bytes_below(here / "o")} - {MANIFEST, "significance.svg"}
    assert wrote >= {Path(output).name for output in case.outputs}
    force = ["--force"] if case.force else []
    if case.force and name != "rank":  # which goes on, when asked for the same again
        before = bytes_below(here)
        done = dris(*first)
        assert broken(done, before, here) == []
        assert "--force" in done[2]
    assert dris(*first, *force)[0] == 0
    for output in case.outputs:
        path = here / output
        ours = path.read_bytes()
        path.write_bytes(ours + PRECIOUS)
        before = bytes_below(here)
        done = dris(*first, *force)
        assert broken(done, before, here) == [], output
        assert "was changed" in done[2]
        path.write_bytes(ours)


@pytest.mark.parametrize("link", ["hard", "soft"])
@pytest.mark.parametrize("name", ["audit draw", "corrupt"])
def test_an_input_is_known_by_any_of_its_names(name, link, dris, here):
    alias = here / "o" / "alias.csv"
    alias.parent.mkdir()
    if link == "hard":
        alias.hardlink_to(here / "data.csv")
    else:
        alias.symlink_to(here / "data.csv")
    words = WRITES[name].words.partition(" --out ")[0].split()
    before = bytes_below(here)
    for force in ([], ["--force"]):
        done = dris(*words, "--out", alias, *force)
        assert broken(done, before, here) == []
        assert "input" in done[2]
    assert alias.samefile(here / "data.csv")


def test_without_its_manifest_everything_counts_as_foreign(dris, here):
    words = WRITES["audit draw"].words.split()
    assert dris(*words)[0] == 0
    (here / "o" / MANIFEST).unlink()
    before = bytes_below(here)
    done = dris(*words, "--force")
    assert broken(done, before, here) == []
    (here / "o" / MANIFEST).write_bytes(PRECIOUS)
    before = bytes_below(here)
    code, _, printed = dris(*words, "--force")
    assert (code, bytes_below(here)) == (1, before)
    assert "damaged" in printed


def test_proxies_are_kept_beside_what_others_wrote_in_the_store(dris, here):
    for name in ("key.json", "lock", f"runs/{HEX}/key.json"):
        (here / "o" / name).parent.mkdir(parents=True, exist_ok=True)
        (here / "o" / name).write_bytes(PRECIOUS)
    before = bytes_below(here)
    words = f"weights data.csv {FAST}".partition(" --store")[0].split()
    done = dris(*words, "--out", "o")
    assert done[0] == 0, done[2]
    assert broken(done, before, here, refused=False) == []
    new = set(bytes_below(here)) - set(before)
    assert new - {"o/weights.csv", "o/weights.toml", f"o/{MANIFEST}"}
    assert all(name.startswith("o/") for name in new)


def test_runs_removes_no_folder_that_no_run_made_and_names_it(dris, here):
    for name in ("thesis.txt", "key.json", "lock", "state.safetensors", "x/y.damaged"):
        path = here / "home" / HEX / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PRECIOUS)
    (here / "home" / HEX[::-1]).mkdir()
    before = bytes_below(here)
    for more in ([], ["--clean"], ["--clean", "--unfinished"]):
        code, printed, _ = dris("runs", "--store", "home", *more)
        assert (code, bytes_below(here)) == (0, before)
        assert f"{HEX} holds" in printed
        assert (here / "home" / HEX[::-1]).is_dir()


@pytest.mark.parametrize("name", SILENT)
def test_a_command_that_is_said_to_write_nothing_writes_nothing(name, dris, here):
    before = bytes_below(here)
    code, _, printed = dris(*SILENT[name].split())
    assert code == 0, printed
    assert bytes_below(here) == before


def test_rank_leaves_a_folder_called_work_alone(here):
    (here / "work").mkdir()
    (here / "work" / "notes.txt").write_bytes(PRECIOUS)
    (here / "work" / "lock").write_bytes(PRECIOUS)
    before = bytes_below(here)
    del before[MANIFEST]  # which lists more names at the end
    done = subprocess_dris("rank losses/part-0.parquet --workers 1 --out .", here)
    assert done.returncode == 0, done.stderr
    after = bytes_below(here)
    assert {name: after.get(name) for name in before} == before
    assert "scores-00000.parquet" in after
    assert not (here / sharded.SCRATCH).exists()


def test_rank_refuses_scratch_space_that_others_made(here):
    (here / "o" / sharded.SCRATCH).mkdir(parents=True)
    (here / "o" / sharded.SCRATCH / "notes.txt").write_bytes(PRECIOUS)
    before = bytes_below(here)
    for force in ("", " --force"):
        done = subprocess_dris(f"rank losses --workers 1 --out o{force}", here)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "not made" in done.stderr
        assert bytes_below(here) == before


@pytest.mark.parametrize("name", ["audit draw", "weights", "corrupt"])
def test_a_writer_that_refuses_nothing_is_caught(name, dris, here, monkeypatch):
    monkeypatch.setattr(Writer, "refusal", lambda *_: None)
    words, watched = WRITES[name].aimed[0]
    before = bytes_below(here / watched)
    problems = broken(dris(*words.split(), "--force"), before, here / watched)
    assert any("was changed" in line for line in problems)
    assert "exit code 0, not 1" in problems


def test_a_command_that_writes_past_the_writer_is_caught(dris, here, monkeypatch):
    def past(out):
        out.write_text("{}", encoding="utf-8")
        return out.with_name("truth.csv")

    monkeypatch.setattr("dris.learn.attack.truth_path", past)
    (here / "o").mkdir()
    (here / "o" / "noisy.csv").write_bytes(PRECIOUS)
    before = bytes_below(here)
    problems = broken(dris(*WRITES["corrupt"].words.split()), before, here)
    assert "o/noisy.csv was changed" in problems


# Modules that write, rename or remove by themselves, and why they may.
THEMSELVES = {
    "core/files": "the lowest layer: one file, whole or not at all",
    "writer": "the writer itself",
    "journal": "lines added to a file that is a review already, or that was not there; its lock",
    "review": "a file in a temporary folder",
    "data/files": "a copy in the cache, named by a hash",
    "csvfile": "into the writer's temporary name",
    "parquet": "into the writer's temporary name",
    "numpy_files": "into the writer's temporary name",
    "excel": "into the writer's temporary name",
    "jsonlines": "into the writer's temporary name",
    "sentences": "embeddings in the user's cache, named by a hash of the text",
    "data/outputs": "into the writer's temporary name",
    "shards": "into scratch space that has a mark",
    "dynamics_file": "where a caller of the library says",
    "runs": "the store: files of its own names in a folder named by a hash",
    "run_store": "the store: removes files of its own names",
    "ranking/passes": "into scratch space that has a mark",
    "disk_sort": "into scratch space that has a mark",
    "locks": "the lock, which holds a number or nothing; scratch space that has a mark",
    "tasks": "a mark of a name used once",
    "processes": "a temporary file of a fresh name",
    "standardize": "a file in a temporary folder",
    "flips": "replaces labels, no files",
}
_VERBS = {
    *("write_text", "write_bytes", "unlink", "rmdir", "rmtree", "rename", "savefig", "touch"),
    *("write_atomically", "write_arrays", "place_new", "ParquetWriter"),
    *("write_table", "savez", "savez_compressed", "ftruncate", "copyfile", "move", "symlink_to"),
    *("to_csv", "to_parquet", "to_json", "removedirs", "truncate", "hardlink_to"),
}


def writes_itself(source):
    """What in a module's text writes, renames or removes a file."""
    problems = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        owner = getattr(getattr(node.func, "value", None), "id", "")
        if name in _VERBS or (owner, name) == ("os", "remove"):  # a list has a remove as well
            problems.add(name)
        given = [a.value for a in node.args if isinstance(a, ast.Constant)]
        given += [k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)]
        modes = [value for value in given if isinstance(value, str) and len(value) < 4]
        if name == "open" and any(set(mode) & set("wxa+") for mode in modes):
            problems.add("open")
        if name == "replace" and len(node.args) == 1 and not node.keywords:
            problems.add("replace")  # a path's; a text's has two, a dataclass's has names
    return problems


def test_no_other_module_writes_renames_or_removes_by_itself():
    folder = Path(package.__file__).parent
    paths = list(folder.rglob("*.py"))
    names = Counter(path.stem for path in paths)
    problems = {
        path.stem if names[path.stem] == 1 else f"{path.parent.name}/{path.stem}"
        for path in paths
        if writes_itself(path.read_text(encoding="utf-8"))
    }
    assert problems - set(THEMSELVES) == set()
    assert set(THEMSELVES) - problems == set()  # who no longer does has no entry


@pytest.mark.parametrize(
    "line",
    [
        "path.write_text(text)",
        "open(path, 'w')",
        "path.open('xb')",
        "os.remove(path)",
        "temporary.replace(path)",
        "shutil.rmtree(folder)",
        "write_atomically(path, pieces)",
    ],
)
def test_the_search_for_such_modules_finds_one(line):
    assert writes_itself(f"def f():\n    {line}\n")
    assert not writes_itself(
        "x = text.replace('a', 'b')\ny = open(path, 'rb')\nz = replace(a, b=1)"
    )
