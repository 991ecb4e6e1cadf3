"""Rank variance mixed with the gradient norm, or with a uniform draw (paper, table 8; item 11).

    python -m experiments hybrid --scale cpu

The hybrid score β·‖∇f‖ + (1 − β)·σ̂² keeps its top quarter. Two other readings of its text stand
beside it: the norms scaled to the variance's range, and a quarter drawn in proportion to the score
instead of its top, as "q_i ∝" may say. The uniform hybrid, which the paper
proposes and does not run, is tried here on subsets: a share k of the quarter by rank variance, the
rest drawn from what that leaves. First data set, clean and targeted 25 %.
Cost: seconds at smoke; at cpu 30 targets per seed, about 10 minutes of one core; at paper as many
targets of 25 GPU-minutes.
Claims tested: β = 1 best on clean data, β = 0 best under attack, worse with every step of β; and
of the proposal, that it degrades gently.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.paper.pruning import ATTACK, static
from experiments.records import Records
from experiments.results.claims import Claim, above, falling, together
from experiments.results.curves import Curves, Panel, curve_panels
from experiments.results.paper_values import HYBRID
from experiments.results.reading import Like, cross_table
from experiments.results.table import Printed, Table
from experiments.rules import SHARES, hybrid, mixed
from experiments.scales import Scale
from experiments.spec import CLEAN, Cell, Noise

NOISES = (CLEAN, ATTACK)
BETAS: Mapping[float, str] = {
    0.0: "rank_variance",
    **{beta: hybrid(beta).name for beta in (*SHARES, 1.0)},
}
SCALED: Mapping[float, str] = {**BETAS, **{b: hybrid(b, scaled=True).name for b in SHARES}}
DRAWN: Mapping[float, str] = {b: hybrid(b, method="draw").name for b in BETAS}
_DRAWN = "drawn in proportion to the score"
READINGS = {"norms scaled to the variance's range": SCALED, _DRAWN: DRAWN}
UNIFORM: Mapping[float, str] = {
    1.0: "rank_variance",
    **{share: mixed(share).name for share in reversed(SHARES)},
    0.0: "random",
}


def cells(scale: Scale) -> list[Cell]:
    """Both families under both noises, seed by seed."""
    families = (BETAS, UNIFORM, *READINGS.values())
    rules = dict.fromkeys(rule for family in families for rule in family.values())
    return [
        static(scale.setups[0], noise, rule, seed)
        for seed in range(scale.seeds)
        for noise in NOISES
        for rule in rules
    ]


def tables(records: Records) -> Sequence[Table]:
    """Accuracy of both families, and what is corrupt in their subsets under attack."""
    rows = {str(noise): {"noise": noise} for noise in NOISES}
    families = (BETAS, *READINGS.values())
    betas = {f"β = {beta:g}": {"rule": rule} for beta, rule in BETAS.items()}
    shares = {f"k = {share:g}": {"rule": rule} for share, rule in UNIFORM.items()}

    def printed(row: Like, column: Like) -> Printed | None:
        rules = next(list(f.values()) for f in families if column["rule"] in f.values())
        return HYBRID[str(row["noise"])][rules.index(column["rule"])]

    names = {"gradient norm, share β": betas, "uniform, k by rank variance": shares}
    return [
        cross_table(
            records,
            "Mixed with the gradient norm: test accuracy (%)",
            rows,
            betas,
            paper=printed,
            best=None,
        ),
        *(
            cross_table(
                records,
                f"Mixed with the gradient norm, another reading, {name}: test accuracy (%)",
                rows,
                {f"β = {beta:g}": {"rule": rule} for beta, rule in family.items()},
                paper=printed,
                best=None,
            )
            for name, family in READINGS.items()
        ),
        cross_table(
            records, "Mixed with a uniform draw: test accuracy (%)", rows, shares, best=None
        ),
        *(
            cross_table(
                records,
                f"Fraction corrupt in the subset, {name}",
                {str(ATTACK): {"noise": ATTACK}},
                columns,
                what="contamination",
                best=None,
                percent=False,
                digits=3,
            )
            for name, columns in names.items()
        ),
    ]


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Accuracy and contamination as the other signal takes over."""

    def curves(what: str, noise: Noise) -> Curves:
        def at(rule: str) -> list[float]:
            return [100 * value for value in records.values(what, rule=rule, noise=noise)]

        return {
            "gradient norm": {beta: at(rule) for beta, rule in BETAS.items()},
            **{n: {b: at(rule) for b, rule in f.items()} for n, f in READINGS.items()},
            "uniform": {1 - share: at(rule) for share, rule in UNIFORM.items()},
        }

    panels = [
        Panel(
            f"{noise}: accuracy",
            "share of the other signal, β or 1 − k",
            "test accuracy, %",
            curves("accuracy", noise),
            {"gradient norm": dict(zip(BETAS, (m for m, _ in HYBRID[str(noise)]), strict=True))},
        )
        for noise in NOISES
    ]
    dirt = Panel(
        f"{ATTACK}: contamination",
        "share of the other signal, β or 1 − k",
        "corrupt in the subset, %",
        curves("contamination", ATTACK),
    )
    return [curve_panels([*panels, dirt], folder / "hybrid.png")]


def claims(records: Records) -> Sequence[Claim]:
    """The paper's reading of table 8, and what it expects of the uniform hybrid."""

    def by(what: str, rule: str, noise: Noise) -> dict[int, float]:
        return records.by_seed(what, rule=rule, noise=noise)

    def over(text: str, larger: str, smaller: str, noise: Noise = ATTACK) -> Claim:
        return above(text, by("accuracy", larger, noise), by("accuracy", smaller, noise))

    return [
        over("clean: β = 1 above β = 0 (paper: 1.83 points)", BETAS[1], BETAS[0], CLEAN),
        together(
            f"{ATTACK}: β = 0 above every other β",
            [over(f"β = {beta:g}", BETAS[0], rule) for beta, rule in BETAS.items() if beta],
        ),
        falling(
            f"{ATTACK}: accuracy falls with every step of β",
            {beta: by("accuracy", rule, ATTACK) for beta, rule in BETAS.items()},
        ),
        over(f"{ATTACK}: β = 1 collapses, Random above it", "random", BETAS[1]),
        # Scaled or not, the ends of the range are the same two scores.
        over(f"another reading, {_DRAWN}: clean, β = 1 above β = 0", DRAWN[1.0], DRAWN[0.0], CLEAN),
        *(
            falling(
                f"another reading, {name}: {ATTACK}, accuracy falls with every step of β",
                {beta: by("accuracy", rule, ATTACK) for beta, rule in family.items()},
            )
            for name, family in READINGS.items()
        ),
        over("proposed: clean, k = 0.5 above k = 1", UNIFORM[0.5], UNIFORM[1], CLEAN),
        falling(
            f"proposed: {ATTACK}, contamination rises gently towards ε as k falls",
            {share: by("contamination", rule, ATTACK) for share, rule in UNIFORM.items()},
        ),
        over(f"proposed: {ATTACK}, k = 0.5 above β = 0.5", UNIFORM[0.5], BETAS[0.5]),
        over(f"ours: {ATTACK}, k = 0.5 above Random", UNIFORM[0.5], "random"),
    ]
