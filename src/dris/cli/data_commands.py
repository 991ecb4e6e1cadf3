"""The commands about a user's own data: clean, prune, weights, rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dris.cli.data_options import (
    DataOptions,
    Keep,
    check_share,
    flag,
    names_in,
    option,
)
from dris.core.errors import InputError
from dris.core.select.rule_parameters import PARAMETERS

if TYPE_CHECKING:
    from dris.core.select.rules import Rule
    from dris.pipeline.decision import Decision

RECOMMENDED = "recommended"
NEAR_ASSUMPTION = 0.9  # of --at-most: a limit on all labels above this share of it says nothing
NoReport = Annotated[bool, flag("--no-report", "Write no report.html.")]
Scores = Annotated[bool, flag("--scores", "Write scores.parquet and recipe.json too.")]


def clean(
    options: DataOptions,
    columns: Annotated[
        str | None, option("A,B", "Data columns to copy into issues.csv, or all.")
    ] = None,
    fix: Annotated[
        bool, flag("--fix", "Keep suspects with the suggested label where it is sure.")
    ] = False,
    scores: Scores = False,
    no_report: NoReport = False,
) -> None:
    """Drop the labels that look wrong, and only those: OUT/cleaned.*, issues.csv, report.html.

    FORMATS
    Example: dris clean people.csv --label income --id person
    """
    from dris.pipeline.route import clean as decide

    outputs = {"scores": scores, "report": not no_report, "columns": names_in(columns)}
    run = options.run(decide, options.read(), outputs, fix=fix)
    _print_decision(options, run.decision, run.files[0])
    options.print_files(run)


def _parameter(name: str, metavar: str | None = "X") -> object:
    """A parameter of rules, which `dris rules` lists: all of them would not fit a screen here."""
    return typer.Option(f"--{name}", metavar=metavar, help=PARAMETERS[name][1], hidden=True)


def prune(
    options: DataOptions,
    keep: Keep = None,
    rule: Annotated[
        str, option("NAME", "One that dris rules explains, with its parameters.")
    ] = RECOMMENDED,
    beta: Annotated[float | None, _parameter("beta")] = None,
    scaled: Annotated[bool | None, _parameter("scaled", None)] = None,
    epoch: Annotated[int | None, _parameter("epoch")] = None,
    share: Annotated[float | None, _parameter("share")] = None,
    detector: Annotated[str | None, _parameter("detector")] = None,
    recall: Annotated[float | None, _parameter("recall")] = None,
    chooser: Annotated[str | None, _parameter("chooser")] = None,
    fill: Annotated[bool | None, _parameter("fill", None)] = None,
    form: Annotated[str, option("HOW", "What to write: data, ids or column.", "--as")] = "data",
    scores: Scores = False,
    no_report: NoReport = False,
) -> None:
    """Keep a share of the examples, those worth training on: OUT/kept.* and OUT/report.html.

    FORMATS
    Example: dris prune people.csv --label income --id person --keep 0.25
    """
    from dris.pipeline.choice import check_rule
    from dris.pipeline.route import prune as decide

    if keep is None:
        raise InputError(
            "prune needs `keep`, the share of the examples to keep, such as 0.25; "
            "dris clean drops only what looks wrong"
        )
    check_share(keep)
    parameters = (beta, scaled, epoch, share, detector, recall, chooser, fill)
    made = _rule(rule, **dict(zip(PARAMETERS, parameters, strict=True)))
    data = options.read()
    planted = not options.records and options.canaries != "none"
    check_rule(made, keep, canaries=planted, n=len(data))
    outputs = {"form": form, "scores": scores, "report": not no_report}
    run = options.run(decide, data, outputs, keep=keep, rule=made)
    _print_decision(options, run.decision, run.files[0] if form == "data" else None)
    options.print_files(run)


def weights(
    options: DataOptions,
    rule: Annotated[str, option("NAME", "A score, 0 or more.")] = "rank_variance",
    smoothing: Annotated[float, option("X", "Towards uniform draws.")] = 0.1,
    exponent: Annotated[float, option("X", "Of weights: 1 unbiased, 0 all alike.")] = 1.0,
    form: Annotated[str, option("HOW", "What to write: csv or parquet.", "--as")] = "csv",
) -> None:
    """Write how often to draw each example and how much it counts: OUT/weights.csv.

    FORMATS
    Canaries get 0 and 0: their labels were flipped.
    Example: dris weights people.csv --label income --id person
    """
    from dris.pipeline.decision import check_weighting
    from dris.pipeline.route import weights as decide

    check_weighting(rule, smoothing=smoothing, exponent=exponent)
    how = {"score": rule, "smoothing": smoothing, "exponent": exponent}
    run = options.run(decide, options.read(), {"form": form}, **how)
    weighting, say = run.decision.weighting, options.output.say
    if weighting is None:
        raise InputError("nothing was weighted")
    plan, drawn = weighting.importance, weighting.positions.size
    say(f"{drawn:,} examples weighted by {rule}, {len(run.decision) - drawn:,} canaries get 0")
    say(f"  effective size      {plan.effective_size:,.0f} (a full pass is worth as many)")
    say(f"  concentration size  {plan.concentration_size:,.0f} (carry the draws)")
    say(f"  largest weight      {plan.largest_weight:.3g}")
    sizes = ("effective_size", "concentration_size", "largest_weight")
    options.print_files(run, weighted_by=rule, **{name: getattr(plan, name) for name in sizes})


def rules() -> None:
    """List the rules by which examples can be chosen, and their parameters.

    Example: dris rules
    """
    from dris.core.select.rules import RULES

    wide = max(map(len, RULES))
    typer.echo(f"{RECOMMENDED:<{wide}}  what the data suggest, or nothing where no rule is safe")
    for rule in RULES.values():
        typer.echo(f"{rule.name:<{wide}}  {rule.about}")
    typer.echo("\nParameters, such as --rule hybrid --beta 0.25:")
    for name, (_, text) in PARAMETERS.items():
        typer.echo(f"--{name:<{wide - 2}}  {text}")


def _rule(name: str, **parameters: object) -> "str | Rule":
    """The rule of that name; with parameters, if any are given."""
    if all(value is None for value in parameters.values()):
        return name
    from dris.core.select.rules import rule_of

    return rule_of(name, **parameters)


def _print_decision(options: DataOptions, decision: "Decision", kept: Path | None) -> None:
    """The decision in words, and how to check it where the limit is loose."""
    say = options.output.say
    for line in decision.lines():
        say(line)
    if options.verbose and decision.judgement is not None:
        for one in decision.judgement.checks.values():
            say(f"  {one}")
    if not decision.limits:
        return
    check = "dris audit"
    if kept is not None:
        check = options.step("audit", "draw", kept, written=decision.data)
    sample = f"check a sample for a limit that needs no assumption: {check}"
    if max(most.share for most in decision.corruption) > NEAR_ASSUMPTION * options.at_most:
        say(
            f"so     how many labels are wrong cannot be told from canaries here, up to "
            f"{options.at_most:.0%} are allowed for; if fewer surely are, say so with --at-most, "
            f"or {sample}"
        )
    elif decision.limit_says == "not to be trusted":
        say(f"so     plant other --canaries, or {sample}")
    elif decision.limit_says == "nothing":
        less = "" if decision.keep is None else "keep less, or "
        say(f"so     {less}{sample}")
