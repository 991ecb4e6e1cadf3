"""Every name the documentation gives exists, and the map leaves out no label of the paper."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAP = ROOT / "docs" / "paper-map.md"
PAGES = [MAP, *sorted((ROOT / "docs" / "decisions").glob("*.md"))]

# The labels of the paper, in its order.
LABELS = """
sec:background eq:optimal_is sec:related sec:theory assu:contamination eq:rankvar
assu:adv_concentration assu:bdry_disagreement assu:proxy_sub_gaus thm:main eq:bulk eq:bdry
eq:contam prop:suboptimality sec:method eq:dris_online sec:experiments sec:exp:cifar_pruning
tab:cifar_pruning tab:noise_recovery_inline fig:K_ablation sec:exp:online tab:online_is
sec:exp:limitations tab:food101 sec:limitations app:proofs app:proof eq:star
eq:tail_survival_condition app:prop_suboptimality app:aum-proof ass:aum-gap ass:aum-spread
ass:aum-traj thm:aum-auroc app:alg alg:dris_static_scientific alg:dris_online_scientific
app:exp_details app:proxy_details app:target_training app:baselines app:smoothing app:compute
app:license app:exp:sweeps app:paired_t_headline tab:paired_t_headline app:exp:alpha
tab:alpha_sweep app:exp:eps fig:breakdown_curve app:exp:proxy_diversity tab:proxy_diversity
fig:proxy_diversity fig:mnist_dris_gap app:exp:proxy_type fig:mnsit_ablation fig:mnist_aum
app:exp:hybrid tab:hybrid_ablation app:tab:running_times tab:wallclock_t1 app:food101
app:rho_loss_breakdown app:synthetic tab:synthetic app:diagnostics
""".split()  # noqa: SIM905, words read better than a column of strings

_REFERENCE = re.compile(r"`([\w./-]+\.py)::([\w.]+)`")
_LABEL = re.compile(r"`((?:sec|eq|thm|prop|tab|fig|alg|assu?|app):[\w:-]+)`")


def references(text: str) -> list[tuple[str, str]]:
    """Each `path::name` of a page."""
    return [(path, name) for path, name in _REFERENCE.findall(text)]


def exists(path: str, name: str) -> bool:
    """Whether the file defines the name."""
    body = (
        ast.parse((ROOT / path).read_text(encoding="utf-8")).body if (ROOT / path).exists() else []
    )
    for part in name.split("."):
        node = next((node for node in body if part in _names_of(node)), None)
        if node is None:
            return False
        body = getattr(node, "body", [])
    return True


def _names_of(node: ast.stmt) -> set[str | None]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {getattr(node, "name", None), *(getattr(t, "id", None) for t in targets)}


def wrong_names(text: str) -> list[str]:
    return [f"{path}::{name}" for path, name in references(text) if not exists(path, name)]


def missing_labels(text: str) -> list[str]:
    given = set(_LABEL.findall(text))
    return [label for label in LABELS if label not in given]


def rows(text: str) -> list[list[str]]:
    """The cells of every table row, headers and rules left out."""
    cells = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| ")]
    return [[c.strip() for c in row] for row in cells if row[0].strip() != "paper"]


def answers(cell: str) -> bool:
    """True if a cell names something, or says that there is nothing to build."""
    named = bool(_REFERENCE.search(cell)) or cell in ("nothing to build", "the rows below")
    return named or "row by row below" in cell or bool(re.search(r"not yet \(\w.*\)", cell))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_a_page_gives_exists(page):
    assert wrong_names(page.read_text(encoding="utf-8")) == []


def test_the_map_gives_exactly_the_labels_of_the_paper():
    text = MAP.read_text(encoding="utf-8")
    assert missing_labels(text) == []
    assert set(_LABEL.findall(text)) <= set(LABELS)


def test_every_row_of_the_map_says_where_or_not_yet():
    assert [row for row in rows(MAP.read_text(encoding="utf-8")) if not answers(row[-1])] == []


@pytest.mark.parametrize(
    "wrong",
    [
        "src/dris/core/scores/ranks.py::rank_varience",
        "src/dris/core/dynamics/dynamics.py::Dynamics.saved",
        "tests/core/test_theorems.py::test_nothing",
    ],
)
def test_a_wrong_name_would_be_caught(wrong):
    assert wrong_names(f"| eq. 0 | | `{wrong}` |") == [wrong]


def test_a_missing_label_and_an_empty_answer_would_be_caught():
    text = MAP.read_text(encoding="utf-8").replace("`eq:rankvar`", "")
    assert missing_labels(text) == ["eq:rankvar"]
    assert not any(map(answers, ("", "not yet", "`src/dris/core/scores/ranks.py`")))


def test_the_index_links_every_decision():
    folder = ROOT / "docs" / "decisions"
    linked = re.findall(
        r"\]\((\d\d-[\w-]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8")
    )
    assert linked == sorted(page.name for page in folder.glob("[0-9]*.md"))
    assert [name[:2] for name in linked] == [f"{number:02}" for number in range(1, len(linked) + 1)]
