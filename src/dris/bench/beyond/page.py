"""docs/results/beyond.md, written from the records alone.

python -m dris.bench.beyond.page --records docs/results/records --out docs/results
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from dris.bench.beyond.figures import difference_figure, keep_figure, rate_figure
from dris.bench.beyond.records import Column, Results, read_results
from dris.bench.beyond.setting import HARD, KEEPS, STUDIES, SWEEP, TABLE, Study, noises
from dris.bench.results.statistics import compare, mean_std
from dris.bench.rules import BASELINES, DEFAULT, FILLED, GATED, NAMES, VARIANTS
from dris.bench.spec import Noise
from dris.core.dynamics.arrayfile import made_folder, write_atomically

TITLES = {
    "digits": "Digits",
    "fashion-mnist": "Fashion-MNIST",
    "fashion-mnist-small": "Fashion-MNIST, 1,500",
    "cifar10": "CIFAR-10",
    "cifar10-features": "CIFAR-10 features",
    "food101-mini": "Food-101, in part",
}
RIVALS = ("rank_variance", "aum")
# One seed, 12,000 examples of Fashion-MNIST, gate at the 95 % canary quantile, before this study.
FIRST_TRIAL = {
    Column(TABLE[3], 0.25): (74.1, 77.3, 76.3, 80.5, 82.5, 83.3),
    Column(TABLE[3], 0.5): (75.3, 80.2, 75.5, 82.9, 83.1, 83.5),
    Column(SWEEP[1], 0.25): (71.1, 80.1, 80.2, 81.5, 83.7, 84.7),
    Column(HARD[1], 0.25): (64.1, 73.2, 50.8, 78.4, 80.7, 81.0),
}
TRIED = ("random", "aum", "rank_variance", "gate+rank_variance", "gate+uniform", "gate+el2n")


def page(studies: Sequence[Results]) -> str:
    """The whole page as Markdown."""
    lines = [
        "# Gated selection beside the other rules",
        "",
        *(
            f"    python -m dris.bench.beyond --data {s.study.data} --seeds {_seeds(s)}{_how(s)}"
            for s in studies
        ),
        "    python -m dris.bench.beyond.page",
        "",
        "Written by the last command from the records "
        + ", ".join(f"[{_file(s.study)}](records/{_file(s.study)})" for s in studies)
        + ". Test accuracy in per cent, mean ± sample standard deviation over seeds. Every target "
        "takes as many steps as on all the data. The gated rules pay for their canaries: their "
        "proxies train on labels of which a known share was flipped, and no canary is kept; the "
        "others' proxies train on the given labels. Comparisons are paired over seeds, a t test at "
        "0.05 in the direction of the difference, not corrected for their number: by chance alone "
        "one column in ten would be decided, one way or the other. The default was chosen on "
        "digits and Fashion-MNIST, by the numbers on this page, so its lead there is flattered; "
        "other data sets are the test. It is the second one: the first, gate + half EL2N, failed "
        "on Food-101, and its successor was sought on 1,500 examples of Fashion-MNIST, where it "
        "failed alike. So CIFAR-10 and Food-101 have been looked at twice.",
        "",
        f"The default is **{NAMES[DEFAULT]}**: see "
        "[decision 16](../decisions/16-gated-default.md).",
        "",
        "## Where the default does not win",
        "",
        *(line for s in studies for line in _not_winning(s)),
        "## Over all columns",
        "",
        *_over_all(studies),
        "![The default less the better of DR-IS and AUM](images/beyond-difference.png)",
        "",
        "![Accuracy as the noise grows](images/beyond-rates.png)",
        "",
        "![Accuracy as more is kept](images/beyond-keeps.png)",
        "",
        "Where EL2N leaves a panel it has fallen below its range; the tables say how far.",
        "",
    ]
    for s in studies:
        lines += _study(s)
    return "\n".join(lines).rstrip() + "\n"


def _study(s: Results) -> list[str]:
    rules = [*BASELINES, *GATED]
    lines = [f"## {TITLES[s.study.data]}", "", _setting(s), ""]
    for keep in KEEPS:
        lines += [f"Keep fraction {keep:g}:", ""]
        lines += _table(s, [Column(noise, keep) for noise in TABLE], rules)
    lines += ["As the noise grows:", ""]
    for kind in ("uniform", "targeted"):
        columns = [Column(noise, 0.25) for noise in SWEEP if noise.kind == kind]
        hard = [Column(noise, 0.5) for noise in HARD if noise.kind == kind]
        lines += _table(s, columns + hard, rules)
    lines += ["Corrupt in the subset, per cent, keep fraction 0.25:", ""]
    columns = [Column(noise, 0.25) for noise in (*TABLE[1:], *HARD)]
    lines += _table(s, columns, rules, what="contamination")
    lines += ["Other gates (recall, detector) with the same chooser:", ""]
    columns = [Column(noise, keep) for keep in (0.25, 0.5) for noise in (*TABLE, *HARD)]
    lines += _table(s, columns, ["gate+el2n", *VARIANTS])
    if s.study.data == "fashion-mnist":
        lines += _beside_first_trial(s)
    return lines


def _setting(s: Results) -> str:
    study = s.study
    strict = [r for r in s.records if r["rule"] == DEFAULT]
    short, gated = sum(1 for r in strict if r.get("short")), len(strict)
    return (
        f"{'All' if study.examples is None else f'{study.examples:,}'} training examples, "
        f"{study.proxies} proxies ({study.model}, {study.proxy_epochs} epochs, batches of "
        f"{study.proxy_batch}, scored at half), canaries on {100 * study.canaries:g} % of the "
        f"labels, targets of the same kind ({study.target_epochs} epochs' steps, batches of "
        f"{study.target_batch}), {_seeds(s)} seeds. In {short} of {gated} runs of the default "
        "fewer examples passed the gate than were to be kept."
    )


def _table(
    s: Results, columns: Sequence[Column], rules: Iterable[str], what: str = "accuracy"
) -> list[str]:
    """Rules down, columns across; the best mean of a column in bold."""
    shown = {rule: [s.values(what, rule, column) for column in columns] for rule in rules}
    shown = {rule: values for rule, values in shown.items() if any(values)}
    if not shown:
        return ["not run", ""]
    best = [
        (max if what == "accuracy" else min)(
            (mean_std(values[i])[0] for values in shown.values() if values[i]), default=None
        )
        for i in range(len(columns))
    ]
    same_keep = len({column.keep for column in columns}) == 1
    heads = [str(c.noise) if same_keep else str(c) for c in columns]
    lines = [f"| rule | {' | '.join(heads)} |", "|---" + "|---:" * len(columns) + "|"]
    for rule, values in shown.items():
        cells = [_cell(v, top) for v, top in zip(values, best, strict=True)]
        mark = " (default)" if rule == DEFAULT else ""
        lines.append(f"| {NAMES[rule]}{mark} | {' | '.join(cells)} |")
    return [*lines, ""]


def _cell(values: Sequence[float], best: float | None) -> str:
    if not values:
        return ""
    mean, spread = mean_std(values)
    text = f"{100 * mean:.1f} ± {100 * spread:.1f}"
    return f"**{text}**" if mean == best else text


def against_rivals(s: Results, column: Column, rule: str = DEFAULT) -> tuple[float, str]:
    """A rule less the better of DR-IS and AUM in a column: points, and the outcome."""
    ours = s.values("accuracy", rule, column)
    better = max(RIVALS, key=lambda rule: mean_std(s.values("accuracy", rule, column))[0])
    found = compare(ours, s.values("accuracy", better, column))
    return 100 * found.difference, found.outcome


def _not_winning(s: Results) -> list[str]:
    """In words: the columns where another rule leads, by how much and how surely."""
    columns = s.columns
    leads = {column: ahead for column in columns if (ahead := _ahead(s, column))}
    plain = sum(any(rule in BASELINES for _, rule, _ in ahead) for ahead in leads.values())
    filled = ""
    if all(s.values("accuracy", FILLED, column) for column in columns):
        filled = f" Filled up where too few pass: {_counted(s, FILLED)}."
    lines = [
        f"**{TITLES[s.study.data]}.** Against the better of DR-IS and AUM (top) in each of "
        f"{len(columns)} columns: {_counted(s, DEFAULT)}.{filled} Against all rules: another one "
        f"leads in {len(leads)} columns, one without a gate in {plain}.",
        "",
    ]
    for column, ahead in leads.items():
        told = [
            f"{NAMES[rule]} by {100 * gap:.1f}{' (decided)' if sure else ''}"
            for gap, rule, sure in ahead
        ]
        lines.append(f"- {column}: behind {', '.join(told)}.")
    return lines if lines[-1] == "" else [*lines, ""]


def _counted(s: Results, rule: str) -> str:
    """In how many columns a rule is above the better rival, decided or not."""
    versus = [against_rivals(s, column, rule) for column in s.columns]
    counted = {o: sum(v[1] == o for v in versus) for o in ("above", "undecided", "below")}
    return (
        f"higher in {sum(v[0] > 0 for v in versus)}; decided above in {counted['above']}, "
        f"undecided in {counted['undecided']}, decided below in {counted['below']}"
    )


def _ahead(s: Results, column: Column) -> list[tuple[float, str, bool]]:
    """Rules that lead the default by 0.05 points or more: by how much, which, whether surely."""
    ours, found = s.values("accuracy", DEFAULT, column), []
    for rule in (*BASELINES, *GATED):
        theirs = s.values("accuracy", rule, column)
        if theirs and (gap := compare(theirs, ours)).difference >= 0.0005:
            found.append((gap.difference, rule, gap.outcome == "above"))
    return sorted(found, reverse=True)


def _over_all(studies: Sequence[Results]) -> list[str]:
    """Each rule that ran everywhere: how far behind the best of a column, on average, at worst."""
    places = [(s, column) for s in studies for column in s.columns]
    means = {
        rule: [100 * mean_std(v)[0] for s, c in places if (v := s.values("accuracy", rule, c))]
        for rule in (*BASELINES, *GATED)
    }
    means = {rule: values for rule, values in means.items() if len(values) == len(places)}
    best = [max(values) for values in zip(*means.values(), strict=True)]
    rival = [max(values) for values in zip(*(means[rule] for rule in RIVALS), strict=True)]
    lines = [
        f"Means over seeds in {len(places)} columns of {len(studies)} data sets; points of "
        "accuracy behind the best rule of each column, and in how many the rule is above the "
        "better of DR-IS and AUM (top):",
        "",
        "| rule | behind, mean | behind, worst | above both |",
        "|---|---:|---:|---:|",
    ]
    for rule, values in means.items():
        behind = [top - value for top, value in zip(best, values, strict=True)]
        above = sum(value > other for value, other in zip(values, rival, strict=True))
        mark = " (default)" if rule == DEFAULT else ""
        mean, worst = mean_std(behind)[0], max(behind)
        lines.append(f"| {NAMES[rule]}{mark} | {mean:.1f} | {worst:.1f} | {above} |")
    return [*lines, ""]


def _beside_first_trial(s: Results) -> list[str]:
    lines = [
        "Beside a first trial before this study (12,000 examples, one seed, gate at the plain "
        "95 % quantile of the canaries), trial / here:",
        "",
        f"| column | {' | '.join(NAMES[rule] for rule in TRIED)} |",
        "|---" + "|---:" * len(TRIED) + "|",
    ]
    for column, trial in FIRST_TRIAL.items():
        here = [100 * mean_std(s.values("accuracy", rule, column))[0] for rule in TRIED]
        both = [f"{a:.1f} / {b:.1f}" for a, b in zip(trial, here, strict=True)]
        lines.append(f"| {column} | {' | '.join(both)} |")
    return [*lines, ""]


def _how(s: Results) -> str:
    """The rest of a study's command: the backbone of frozen features, and what it was cut to."""
    words = []
    if s.study.known == "food101" or s.study.data.endswith("-features"):
        words += ["--backbone", "dris.bench.backbones:efficientnet_lite0"]
    run = list(dict.fromkeys(Noise(r["kind"], r["rate"]) for r in s.records))
    if len(run) < len(noises()):
        words += [
            "--noises",
            *("clean" if n.kind == "clean" else f"{n.kind}:{n.rate:g}" for n in run),
        ]
    rules = list(dict.fromkeys(r["rule"] for r in s.records))
    if len(rules) < len({**BASELINES, **GATED, **VARIANTS}):
        words += ["--rules", *rules]
    return "".join(f" {word}" for word in words)


def _seeds(s: Results) -> int:
    return len({r["seed"] for r in s.records})


def _file(study: Study) -> str:
    return f"beyond-{study.data}.json"


def main() -> None:
    """Write the page and its figures; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--records", type=Path, default=Path("docs/results/records"))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    asked = parser.parse_args()
    paths = [asked.records / _file(study) for study in STUDIES.values()]
    studies = [read_results(path) for path in paths if path.exists()]
    images = made_folder(asked.out / "images")
    named = {TITLES[s.study.data]: s for s in studies}
    gaps = {
        name: {str(column): against_rivals(s, column) for column in s.columns}
        for name, s in named.items()
    }
    difference_figure(gaps, images / "beyond-difference.png")
    rate_figure(named, images / "beyond-rates.png")
    keep_figure(named, images / "beyond-keeps.png")
    write_atomically(asked.out / "beyond.md", [page(studies).encode()])


if __name__ == "__main__":
    main()
