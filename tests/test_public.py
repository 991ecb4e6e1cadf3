"""The names people type, pinned; and how little it costs to import them."""

import inspect
import subprocess
import sys
from importlib.util import find_spec

import pytest

import dris

PINNED = """
SCORES Decision Dynamics ImportanceSampler InputError LabelledData RULES Recorder RobustClassifier
RobustSelector Rule Settings certify check clean flip_labels importance keep_top normalized_ranks
plant_canaries prune rank_variance read_data report review targeted_noise
train_proxies weights
""".split()  # noqa: SIM905, words read better than a column of strings


def test_the_public_names_are_these_and_no_others():
    here = set(PINNED) if find_spec("torch") else set(PINNED) - {"ImportanceSampler"}
    assert sorted(dris.__all__) == sorted(here)
    assert sorted(n for n in dir(dris) if not n.startswith("_")) == sorted(here)


@pytest.mark.parametrize("name", [n for n in PINNED if n not in ("SCORES", "RULES")])
def test_every_public_name_is_documented_with_an_example(name):
    if name == "ImportanceSampler":
        pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')
    value = getattr(dris, name)  # a package that can be called is documented by its function
    assert ">>> " in inspect.getdoc(getattr(value, "__wrapped__", value))


def test_every_score_is_documented_with_an_example():
    assert [n for n, score in dris.SCORES.items() if ">>> " not in score.__doc__] == []


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        dris.nonsense  # noqa: B018


def loaded_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8"
    )
    return set(done.stderr.split())


def test_importing_dris_and_asking_for_help_loads_nothing_heavy():
    heavy = {"torch", "scipy.stats", "sklearn", "matplotlib"}
    assert loaded_after("import dris; dris.rank_variance; dris.keep_top") & heavy == set()
    asked = (
        "import sys, dris.cli; sys.argv = ['dris', '--help']\n"
        "try: dris.cli.main()\nexcept SystemExit: pass"
    )
    assert loaded_after(asked) & heavy == set()


def test_the_loading_check_would_see_sklearn():
    assert "sklearn" in loaded_after("import sklearn")


def test_pruning_a_table_imports_nothing_that_it_does_not_use(tmp_path):
    path = tmp_path / "small.csv"
    rows = [f"{i},{i % 7},{'yes' if i % 2 else 'no'}" for i in range(300)]
    path.write_text("\n".join(["a,b,c", *rows]) + "\n", encoding="utf-8")
    words = ["prune", str(path), "--label", "c", "--keep", "0.5", "--out", str(tmp_path / "out")]
    code = f"import sys, dris.cli\nsys.argv = ['dris', *{words!r}]\n"
    code += "try: dris.cli.main()\nexcept SystemExit: pass"
    loaded = loaded_after(code)
    assert {"numpy", "pyarrow", "jinja2"} <= loaded  # the twin: what it does use is seen
    assert not loaded & {"torch", "matplotlib", "starlette"}  # trees bring scikit-learn


def test_arrow_finds_pandas_for_who_asks_after_it_was_left_out():
    pytest.importorskip("pandas")
    code = (
        "from dris.cli.data_options import leave_pandas_out\nleave_pandas_out()\n"
        "import pyarrow, sys\npyarrow.array(['a'])\nassert 'pandas' not in sys.modules\n"
        "assert pyarrow.table({'a': [1]}).to_pandas()['a'].tolist() == [1]"
    )
    assert "pandas" in loaded_after(code)


@pytest.mark.parametrize("name", ["clean", "prune", "weights", "read_data"])
def test_what_people_call_can_be_sent_to_other_processes(name):
    import pickle

    verb = getattr(dris, name)
    assert pickle.loads(pickle.dumps(verb)) is verb
