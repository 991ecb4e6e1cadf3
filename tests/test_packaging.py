"""The package: its page, its versions, and that the files beside the code agree."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

import dris
from lowest import lowest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUP = runpy.run_path(str(ROOT / "setup.py"), run_name="looked at")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_stands_in_one_place_and_the_others_agree():
    assert "version" in PROJECT["project"]["dynamic"]
    assert f"\nversion: {dris.__version__}\n" in text("CITATION.cff")
    assert f"\n  version: {dris.__version__}\n" in text("packaging/conda/recipe.yaml")


def test_every_base_dependency_has_a_lower_bound_and_is_imported():
    pins = lowest(PROJECT["project"]["dependencies"])
    assert len(pins) == len(PROJECT["project"]["dependencies"])
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    modules = {"scikit-learn": "sklearn", "pillow": "PIL"}
    for pin in pins:
        name = pin.partition("==")[0]
        module = modules.get(name, name)
        assert re.search(rf"^\s*(import|from) {module}\b", code, re.M), f"{name} is never imported"


def test_a_dependency_without_a_bound_is_noticed():
    with pytest.raises(ValueError, match="'numpy' has no lower bound"):
        lowest(["numpy"])


def test_the_conda_recipe_has_the_bounds_of_the_package():
    recipe = text("packaging/conda/recipe.yaml").partition("  run:\n")[2].partition("tests:")[0]
    result = dict(re.findall(r"- ([\w-]+) >=([\d.]+)", recipe))
    assert result.pop("python") == PROJECT["project"]["requires-python"].removeprefix(">=")
    wanted = dict(pin.split("==") for pin in lowest(PROJECT["project"]["dependencies"]))
    assert result == wanted


def extras_in(name: str) -> set[str]:
    """An extra and those inside it."""
    parts = " ".join(PROJECT["project"]["optional-dependencies"][name])
    inside = ",".join(re.findall(r"dris\[([\w,]+)\]", parts)).split(",")
    return {name}.union(*(extras_in(one) for one in inside if one))


def test_the_extra_all_holds_every_one_that_a_message_tells_to_install():
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    told = set(re.findall(r"pip install '\.\[(\w+)\]'", code))
    told |= set(re.findall(r"""require\(\s*"[\w.]+", "(\w+)"\)""", code))
    assert {"images", "excel", "huggingface", "review", "torch"} <= told
    assert told <= extras_in("all")
    assert not told <= extras_in("dev")


def test_no_address_is_invented_and_one_setting_makes_all_of_them():
    assert PROJECT["tool"]["dris"]["url"] == ""
    bare = SETUP["long_description"](README, "", "1.0")
    assert SETUP["links"]("") == {}
    assert "](docs/" not in bare
    assert "![" not in bare
    full = SETUP["long_description"](README, "https://host.invalid/dris", "1.0")
    targets = re.findall(r"\]\(([^)]+)\)", full)
    assert targets
    assert all(target.startswith("https://") for target in targets)
    assert "https://host.invalid/dris/raw/v1.0/docs/images/report-page.png" in full
    assert all(
        a.startswith("https://h.invalid") for a in SETUP["links"]("https://h.invalid").values()
    )


def test_pre_commit_runs_what_make_lint_runs():
    lint = text("Makefile").partition("\nlint:")[2].partition("\n\n")[0]
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in lint.splitlines()[1:]]
    hooks = re.findall(r"entry: (.+)", text(".pre-commit-config.yaml"))
    assert hooks == commands


def test_the_workflow_covers_three_systems_and_every_python_that_is_promised():
    workflow = text(".github/workflows/test.yml")
    newest, lowest = re.findall(r"^  (?:default|lowest):.*\n((?:    .*\n)+)", workflow, re.M)
    for system in ("ubuntu", "macos", "windows"):
        assert f"{system}-latest" in newest
        assert f"{system}-latest" in lowest
    classifiers = PROJECT["project"]["classifiers"]
    promised = [c.rpartition(" ")[2] for c in classifiers if re.search(r"Python :: 3\.\d+", c)]
    assert len(promised) >= 3
    assert all(f'"{version}"' in workflow for version in promised)


def test_continuous_integration_checks_builds_the_site_runs_everything_and_follows_the_page():
    steps = re.findall(r"^make (\S+)", text(".ci/run"), re.M)
    assert steps == ["lint", "docs", "test-all", "follow"]
    assert all(re.search(rf"^{step}:", text("Makefile"), re.M) for step in steps)


def test_the_image_runs_as_nobody_special_and_every_file_it_copies_exists():
    lines = text("packaging/docker/Dockerfile").splitlines()
    stages = [line.split()[-1] for line in lines if line.startswith("FROM ")]
    assert stages == ["build", "base", "full"]
    assert all(
        ":" in line.split()[1] or line.split()[1] == "base" for line in lines if "FROM" in line[:4]
    )
    assert [line for line in lines if line.startswith("USER ")][-1] == "USER 10001"
    assert all(
        "--no-cache-dir" in line for line in lines if "pip install" in line and "RUN" in line
    )
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            for name in line.split()[1:-1]:
                assert (ROOT / name).exists(), name
                assert f"!{name}" in text("packaging/docker/Dockerfile.dockerignore").splitlines()


def test_the_source_archive_takes_along_every_file_that_these_tests_read():
    taken = {*text("MANIFEST.in").split(), "README.md", "pyproject.toml", "MANIFEST.in"}
    read = re.findall(r'text\("([\w.-]+)', Path(__file__).read_text(encoding="utf-8"))
    assert sorted(set(read) - taken) == []
    assert {"docs", "tests", "packaging", ".github", ".ci"} <= taken


def missing_paths(page: str) -> list[str]:
    """Files and folders that a page names in backticks, below src/dris or the root, and are not."""
    named = re.findall(r"`((?:[\w.]+/)+[\w.]*)`", page)
    return [n for n in named if not ((ROOT / n).exists() or (ROOT / "src" / "dris" / n).exists())]


def test_contributing_names_only_files_that_there_are():
    page = text("CONTRIBUTING.md").replace("panel_NAME", "panel_classes")
    assert missing_paths(page) == []
    assert missing_paths("see `core/gone.py` and `tests/core/noise/`") == ["core/gone.py"]
