"""The pages of `clean`, written from records alone: aims first, then tables and pictures."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from experiments.studies.clean_arms import OURS
from experiments.studies.clean_noise import NOISES
from experiments.studies.clean_pictures import draw
from experiments.studies.clean_runs import (
    CLEANLAB,
    NAN,
    Cell,
    Runs,
    ahead,
    best,
    bins_of,
    checks,
    commits,
    covered,
    detection,
    dropped,
    f1,
    gains,
    mean_of,
    seeds_of,
    suspects,
    times,
)
from experiments.studies.clean_sets import SETS
from experiments.studies.clean_tables import (
    FOUND,
    SHOWN,
    accuracy_table,
    fixes_table,
    found_by,
    suspects_table,
    table,
)

SURE = 1.645  # standard errors on each side
SURE_OF_RATE = ("uniform", "class")


def clean_page(cells: Sequence[Cell], earlier: Sequence[Cell], images: Path) -> str:
    """results/clean.md, and its pictures; `earlier` are cells of a version that was given up."""
    runs = Runs(cells)
    rest = runs.where(lambda name, _: not SETS[name].chose)
    fresh = rest.where(lambda name, _: not SETS[name].seen)
    seen = rest.where(lambda name, _: SETS[name].seen)
    chose = runs.where(lambda name, _: SETS[name].chose)
    draw(rest, images)
    chosen = [name for name, one in SETS.items() if one.chose]
    bins = bins_of(rest)
    reliability = [
        [f"{k / 10:.1f} – {(k + 1) / 10:.1f}", f"{n:,.0f}", f"{p / n:.3f}", f"{w / n:.3f}"]
        for k, (n, p, w) in enumerate(bins.T)
        if n
    ]
    found = []
    for noise, (title, _) in NOISES.items():
        seeds = [arms for (_, n, _), arms in rest.by.items() if n == noise]
        found += found_by(title, seeds)
    took = [[n, f"{a:.1f}", f"{b:.1f}", f"{a / b:.1f}"] for n, (a, b) in times(runs).items()]
    return "\n".join(
        (
            "# Does `dris clean` help? Data that did not choose it\n",
            f"Judged at {commits(rest) or 'no commit yet'}. On {len(fresh.sets())} sets nothing "
            f"had been run before: {', '.join(fresh.sets())}. On {len(seen.sets())} more an "
            f"earlier version had been run: {', '.join(seen.sets())}. "
            f"Chosen on {', '.join(chosen)}. {seeds_of(rest)} "
            "Targets: logistic regression, a hidden layer, boosted trees (up to 25 classes); test "
            "accuracy on true labels. cleanlab with its default filter on 5-fold probabilities of "
            "each of three models; its best is picked with the truth at hand. Written by "
            "`python -m experiments clean`; every cell: [of sets that nothing had been run on]"
            "(records/clean.jsonl), [of the others](records/clean-seen.jsonl). What later commits "
            "decide on a few sets is held the same by `tests/golden`.\n",
            "## The answer, on sets that nothing had been run on\n",
            answer(fresh),
            "## On sets that an earlier version had been run on\n",
            answer(seen),
            _earlier(Runs([*(c for c in cells if c["arm"] not in OURS), *earlier])),
            "![Points against the better of two](images/clean-gain.png)\n\n"
            "![Is P(wrong) calibrated](images/clean-reliability.png) "
            "![The harm check](images/clean-harm.png)\n",
            "## Accuracy\n",
            "Points ahead of training on everything; mean ± std (n), of (set, noise). *Random* "
            "drops as many rows as clean.\n",
            accuracy_table(rest, "noise"),
            accuracy_table(rest, "set"),
            "## Detection\n",
            "Over all sets that did not choose: means, and counts of suspects.\n",
            table(FOUND, found),
            "## Calibration\n",
            table(("P(wrong)", "labels", "mean P(wrong)", "wrong"), reliability),
            "## Fixes\n",
            fixes_table(rest),
            "## What was said and what was true\n",
            "Means of the seeds, sums for suspects. Where the check made clean keep everything, "
            "*true* is what dropping the suspects would have done.\n",
            suspects_table(rest),
            "## Processor time\n",
            "Seconds of the whole job, harm check and page included, and of cleanlab with boosted "
            "trees, in one process; uniform noise.\n",
            table(("set", "dris clean", "cleanlab trees", "times"), took),
            _chose(chose),
        )
    )


def _earlier(runs: Runs) -> str:
    """What the earlier version had given on the same sets."""
    if not runs.by:
        return ""
    return (
        f"The earlier version, {commits(runs)} ([every cell](records/clean-earlier.jsonl)). "
        f"{seeds_of(runs)}\n\n{answer(runs)}"
    )


def _chose(runs: Runs) -> str:
    """The sets that chose, where they were run."""
    if not runs.by:
        return "The sets that chose were not run through the whole job at this commit.\n"
    tables = (accuracy_table(runs, by) for by in ("noise", "set"))
    return "\n".join(("## The sets that chose\n", answer(runs), *tables, suspects_table(runs)))


def natural_page(cells: Sequence[Cell]) -> str:
    """results/natural.md."""
    runs = Runs(cells)
    groups = runs.groups()
    found = [
        row
        for (name, noise), seeds in groups.items()
        for row in found_by(f"{name}, {noise}", seeds)
    ]
    columns = ("everything", *SHOWN)
    reached = [
        [f"{s}, {n} ({len(seeds)})", *(f"{mean_of(seeds, a, 'accuracy'):.1f}" for a in columns)]
        for (s, n), seeds in groups.items()
        if "everything" in seeds[0]
    ]
    return "\n".join(
        (
            "# Errors that people made\n",
            f"Real errors with known truth; dris at {commits(runs) or 'no commit yet'}, cleanlab "
            "with its default filter: on the same probabilities where they came with the data, "
            "else on 5-fold probabilities of three models on the same features. Written by "
            "`python -m experiments clean --natural`, whose `natural` says what the data are; "
            "[every cell](records/natural.jsonl). Earlier versions had been run on these data, and "
            "what they gave was known when this one was chosen.\n",
            natural_answer(runs),
            "## Detection\n",
            table(FOUND, found),
            "## Accuracy on a clean test set\n",
            "Per cent, mean of three targets and of (n) seeds.\n",
            table(("case", *columns), reached),
        )
    )


def natural_answer(runs: Runs) -> str:
    """Detection, suspects, noise rate and accuracy beside cleanlab's best."""
    groups, lines = runs.groups(), []
    scores = {
        "AUROC": {k: (mean_of(s, "clean", "auroc"), best(s, "auroc")) for k, s in groups.items()},
        "Average precision": {
            k: (mean_of(s, "clean", "ap"), best(s, "ap")) for k, s in groups.items()
        },
        "F1 of the suspects": {
            k: (f1(s, "clean"), max(f1(s, a) for a in s[0] if "cleanlab" in a))
            for k, s in groups.items()
        },
    }
    for name, pairs in scores.items():
        less = [ours - theirs for ours, theirs in pairs.values()]
        told = f"{sum(v >= 0 for v in less)} of {len(less)} cases, {fmean(less):+.3f} on average, "
        lines.append(
            f"- **{name}** at least that of cleanlab's best in {told}{min(less):+.3f} at worst."
        )
    held = covered(runs)
    cells = [arms["clean"] for arms in runs.by.values()]
    low = sum(c["wrong"] > c["rate"][0] for c in cells if "rate" in c)
    lines.append(
        f"- **Noise rate**: too low in {low} of {len(cells)} runs. {sum(held)} of {len(held)} "
        f"intervals hold the truth; in the other {len(cells) - len(held)} runs errors were said "
        "not to look random, and no interval was printed."
    )
    tested = Runs(c for arms in runs.by.values() if "everything" in arms for c in arms.values())
    for arm in ("clean", "fix", "weights"):
        both = gains(tested, arm).values()
        first, second = (fmean(pair[k] for pair in both) for k in (0, 1))
        told = f"{first:+.2f} points beside everything, {second:+.2f} beside cleanlab's best"
        lines.append(f"- **Accuracy, {arm}**: {told}.")
    return "\n".join(lines) + "\n"


def answer(runs: Runs) -> str:
    """Every aim, met or missed and by how much."""
    if not runs.by:
        return "Nothing was run yet.\n"
    lines = []
    none = runs.where(lambda _, noise: noise == "none")
    if none.by:
        shares = {
            name: fmean(dropped(a["clean"]) for a in seeds)
            for (name, _), seeds in none.groups().items()
        }
        worst = max(shares, key=lambda name: shares[name])
        told = (
            f"{fmean(shares.values()):.2f} % on average, {shares[worst]:.2f} % at worst ({worst})."
        )
        met = fmean(shares.values()) < 1 and shares[worst] <= 3
        lines.append(verdict(met, "Rows dropped from clean data below 1 %, 3 % at worst", told))
    both = gains(runs, "clean")
    below = {key: min(pair) for key, pair in both.items() if min(pair) < -1}
    named = ", ".join(
        f"{s} {n} {v:+.1f}" for (s, n), v in sorted(below.items(), key=lambda i: i[1])
    )
    told = f"Below in {len(below)} of {len(both)} (set, noise)" + (f": {named}" if below else "")
    model = max(CLEANLAB, key=lambda arm: fmean(ahead(runs, arm, "everything")))
    fewer = sum(v < -1 for v in ahead(runs, "clean", "everything", model))
    told += f". Beside everything and {model} alone, its best over all sets, in {fewer}."
    aim = "Never more than a point below the better of everything and cleanlab's best"
    lines.append(verdict(not below, aim, told))
    means = [fmean(pair[k] for pair in both.values()) for k in (0, 1)]
    told = f"{means[0]:+.2f} beside everything, {means[1]:+.2f} beside cleanlab's best"
    other = {key: pair for key, pair in gains(runs, "weights").items() if pair[0] == pair[0]}
    other = other or {"none": (NAN, NAN)}
    told += "; weights " + ", ".join(f"{fmean(p[k] for p in other.values()):+.2f}" for k in (0, 1))
    by_model = (fmean(ahead(runs, "clean", arm)) for arm in CLEANLAB)
    told += "; beside each of cleanlab's models alone " + ", ".join(f"{v:+.2f}" for v in by_model)
    lines.append(verdict(min(means) >= 1, "Ahead of both on average by a point", told + "."))
    for field, aim in (("auroc", "AUROC"), ("ap", "Average precision")):
        by_set = detection(runs, field)
        behind = {name: a - b for name, (a, b) in by_set.items() if a < b}
        named = ", ".join(f"{n} {v:+.3f}" for n, v in sorted(behind.items(), key=lambda i: i[1]))
        told = f"On {len(by_set) - len(behind)} of {len(by_set)} sets"
        told += f"; behind on {named}." if behind else "."
        aim = f"{aim} at least that of cleanlab's best model on 9 of 10 sets"
        lines.append(verdict(len(behind) <= 0.1 * len(by_set), aim, told))
    expected, actual, size = suspects(runs)
    told = f"Expected {expected:,.0f} wrong, {actual:,} were, of {size:,} suspects"
    told += f" (ratio {expected / actual:.2f})." if actual else "."
    met = bool(actual) and abs(expected / actual - 1) <= 0.1
    lines.append(verdict(met, "Expected and actual wrong among suspects within 10 %", told))
    held = covered(runs.where(lambda _, noise: noise in SURE_OF_RATE))
    if held:
        told = f"{100 * fmean(held):.0f} % of {len(held)} intervals hold the truth."
        aim = "Noise rate covered in 90 % under uniform and class-dependent noise"
        lines.append(verdict(fmean(held) >= 0.9, aim, told))
    said = checks(runs)
    if said:
        off = fmean(abs(s - true) for s, _, true in said)
        sure = sum((s - SURE * e > 0 > true) or (s + SURE * e < 0 < true) for s, e, true in said)
        told = f"Off by {off:.2f} points on average; sure and wrong in {sure} of {len(said)}."
        aim = "Harm check within a point, sure and wrong in at most 5 %"
        lines.append(verdict(off <= 1 and sure <= 0.05 * len(said), aim, told))
    took = times(runs)
    if took:
        whole, beside = (sum(column) for column in zip(*took.values(), strict=True))
        longer = {name: a / b for name, (a, b) in took.items() if a > 2 * b}
        named = ", ".join(f"{name} {v:.1f}" for name, v in longer.items())
        told = f"{whole / beside:.1f} times over all sets; above twice: {named or 'none'}."
        aim = "At most twice the processor time of cleanlab with boosted trees"
        lines.append(verdict(not longer, aim, told))
    return "\n".join(lines) + "\n"


def verdict(met: bool, aim: str, told: str) -> str:
    """A line of the answer."""
    return f"- **{aim}: {'met' if met else 'missed'}.** {told}"
