"""The commands about a user's own data: clean, prune, score, weights, judge, report, rules."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dris.cli.data_options import Request, takes_request
from dris.cli.options import Keep, MaybeKeep, check_share, names_in, takes_rule
from dris.core.errors import InputError

if TYPE_CHECKING:
    from dris.data.labelled import LabelledData
    from dris.data.writer import Writer
    from dris.pipeline.decision import Decision

RECOMMENDED = "recommended"
UNTOLD = 0.9  # of --at-most: a limit on all labels above this is the assumption, not a finding
RuleName = Annotated[
    str, typer.Option("--rule", metavar="NAME", help="One that dris rules explains.")
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report.html.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (clean, takes_rule(prune), score, weights, judge, takes_rule(report)):
        app.command()(takes_request(command))
    app.command()(rules)


def clean(
    ask: Request,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B", help="Of the data, in issues.csv; or all."),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Write suggested labels where proxies are sure, marked.")
    ] = False,
    no_report: NoReport = False,
) -> None:
    """Drop the labels that look wrong, and only those: OUT/cleaned.*, issues.csv, report.html.

    DATA is CSV, Parquet, NPZ, NPY, a folder of images by class, or a saved data set.
    Example: dris clean people.csv --label income --id person
    """
    from dris.data.display import check_columns
    from dris.data.outputs import write_data
    from dris.pipeline.issues import write_issues
    from dris.pipeline.score_columns import fixed_columns

    data = ask.read()
    shown = check_columns(data, names_in(columns))
    pages = [] if no_report else ["report.html"]
    cleaned, issues, *page = ask.files(f"cleaned{_suffix(data)}", "issues.csv", *pages)
    decision, proxies = ask.decide(data, fix=fix)
    marks = {} if decision.fixed is None else fixed_columns(decision)
    with ask.together() as writer:
        write_data(
            data,
            cleaned,
            positions=decision.kept,
            columns=marks or None,
            labels=decision.fixed,
            writer=writer,
        )
        write_issues(decision, issues, columns=shown, writer=writer)
        files = [cleaned, issues, *_page(ask, decision, page, writer)]
    _say(ask, decision, cleaned)
    ask.talk.say(f"wrote {_listed(files)}")
    ask.result("clean", decision, proxies, files)


def prune(
    ask: Request,
    keep: MaybeKeep = None,
    rule: RuleName = RECOMMENDED,
    written: Annotated[
        str, typer.Option("--as", metavar="HOW", help="What to write: data, ids or column.")
    ] = "data",
    no_report: NoReport = False,
) -> None:
    """Keep a share of the examples, those worth training on: OUT/kept.* and OUT/report.html.

    DATA is CSV, Parquet, NPZ, NPY, a folder of images by class, or a saved data set.
    Trusted examples always stay, canaries never do.
    Example: dris prune people.csv --label income --id person --keep 0.25
    """
    from dris.data.outputs import write_data, write_ids
    from dris.pipeline.choice import check_rule
    from dris.pipeline.score_columns import kept_columns

    if written not in ("data", "ids", "column"):
        raise InputError(f"--as must be data, ids or column, got {written!r}")
    if keep is None:
        raise InputError(
            "prune needs --keep, the share of the examples to keep, such as 0.25; "
            "dris clean drops only what looks wrong"
        )
    check_share(keep)
    data = ask.read()
    check_rule(rule, keep, canaries=ask.plants, n=len(data))
    suffix = ".csv" if written == "ids" else _suffix(data)
    pages = [] if no_report else ["report.html"]
    kept_file, *page = ask.files(f"kept{suffix}", *pages)
    decision, proxies = ask.decide(data, keep=keep, rule=rule)
    with ask.together() as writer:
        if written == "ids":
            write_ids(data, kept_file, positions=decision.kept, writer=writer)
        elif written == "data":
            write_data(data, kept_file, positions=decision.kept, writer=writer)
        else:
            write_data(data, kept_file, columns=kept_columns(decision), writer=writer)
        files = [kept_file, *_page(ask, decision, page, writer)]
    _say(ask, decision, kept_file if written == "data" else None)
    ask.talk.say(f"wrote {_listed(files)}")
    ask.result("prune", decision, proxies, files)


def score(ask: Request) -> None:
    """Train proxies and write every score: OUT/scores.parquet and OUT/recipe.json.

    DATA is CSV, Parquet, NPZ, NPY, a folder of images by class, or a saved data set.
    Example: dris score people.csv --label income --id person
    """
    scores_file, recipe_file = ask.files("scores.parquet", "recipe.json")
    if ask.records and not ask.data:
        _score_records(ask)
        return
    import numpy as np

    from dris.data.scorefile import write_scores
    from dris.pipeline.score_columns import score_file

    decision, proxies = ask.decide(ask.read())
    found = score_file(decision)
    with ask.together() as writer:
        write_scores(found, scores_file, writer=writer)
        _write_json(ask.recipe(decision), recipe_file, writer)
    names = list(found.scores)
    ask.talk.say(f"scored {len(found):,} examples by {len(names)} scores: {', '.join(names)}")
    ask.talk.say(f"wrote {scores_file} and {recipe_file}")
    ask.talk.result(
        {
            "command": "score",
            **decision.to_dict(),
            "scores": names,
            "canaries": int(np.sum(found.flags["canary"])),
            "proxies": proxies,
            "files": [str(scores_file), str(recipe_file)],
        }
    )


def _score_records(ask: Request) -> None:
    """Scores of dynamics that somebody else recorded, without the data."""
    from dris.data.scorefile import ScoreFile, write_scores
    from dris.pipeline.ensemble import scores_of

    dynamics = ask.imported()
    found = ScoreFile(dynamics.ids, scores_of(dynamics), note=dict(dynamics.provenance))
    recipe = ask.out / "recipe.json"
    with ask.together() as writer:
        path = write_scores(found, ask.out / "scores.parquet", writer=writer)
        imported = [str(p) for p in ask.records or []]
        _write_json({"imported": imported, **found.note}, recipe, writer)
    names = list(found.scores)
    ask.talk.say(f"imported {len(found):,} examples: {', '.join(names)}")
    ask.talk.say(f"wrote {path} and {recipe}")
    files = [str(path), str(recipe)]
    values = {"command": "score", "examples": len(found), "scores": names, "files": files}
    ask.talk.result(values)


def weights(
    ask: Request,
    rule: Annotated[
        str, typer.Option("--rule", metavar="NAME", help="A score, 0 or more.")
    ] = "rank_variance",
    smoothing: Annotated[
        float, typer.Option("--smoothing", metavar="X", help="Towards uniform draws.")
    ] = 0.1,
    exponent: Annotated[
        float, typer.Option("--exponent", metavar="X", help="Of weights: 1 unbiased, 0 alike.")
    ] = 1.0,
    written: Annotated[
        str, typer.Option("--as", metavar="HOW", help="What to write: csv or parquet.")
    ] = "csv",
) -> None:
    """Write how often to draw each example and how much it counts: OUT/weights.csv.

    DATA is CSV, Parquet, NPZ, NPY, a folder of images by class, or a saved data set.
    Canaries get 0 and 0: their labels were flipped.
    Example: dris weights people.csv --label income --id person
    """
    from dris.data.outputs import write_ids
    from dris.data.scorefile import ScoreFile, write_scores
    from dris.pipeline.decision import check_weighting

    if written not in ("csv", "parquet"):
        raise InputError(f"--as must be csv or parquet, got {written!r}")
    check_weighting(rule, smoothing=smoothing, exponent=exponent)
    (path,) = ask.files(f"weights.{written}")
    data = ask.read()
    decision, proxies = ask.decide(data)
    weighting = decision.weigh(rule, smoothing=smoothing, exponent=exponent, of="all")
    plan, at = weighting.importance, weighting.positions
    columns = {"probability": weighting.probabilities, "weight": weighting.weights}
    with ask.together() as writer:
        if written == "csv":
            write_ids(data, path, columns=columns, writer=writer)
        else:
            write_scores(ScoreFile(data.ids, columns), path, writer=writer)
    sizes = {
        "effective_size": plan.effective_size,
        "concentration_size": plan.concentration_size,
        "largest_weight": plan.largest_weight,
    }
    say = ask.talk.say
    say(f"{at.size:,} examples weighted by {rule}, {len(data) - at.size:,} canaries get 0")
    say(f"  effective size      {plan.effective_size:,.0f} (a full pass is worth as many)")
    say(f"  concentration size  {plan.concentration_size:,.0f} (carry the draws)")
    say(f"  largest weight      {plan.largest_weight:.3g}")
    say(f"wrote {path}")
    told = {**decision.to_dict(), "weighted_by": rule, **sizes}
    ask.talk.result({"command": "weights", **told, "proxies": proxies, "files": [str(path)]})


def judge(ask: Request, keep: Keep = 0.25) -> None:
    """Say what kind of data this is, which rule fits, and what is certified. Writes no result.

    DATA is CSV, Parquet, NPZ, NPY, a folder of images by class, or a saved data set.
    Example: dris judge people.csv --label income --id person --keep 0.5
    """
    if not ask.plants:
        raise InputError("a judgement needs canaries; leave out --from and --canaries none")
    check_share(keep)
    data = ask.read()
    decision, proxies = ask.decide(data, keep=keep)
    for line in decision.lines():
        ask.talk.say(line)
    for check in () if decision.judgement is None else decision.judgement.checks.values():
        ask.talk.say(f"  {check}")
    ask.result("judge", decision, proxies, [])


def report(ask: Request, keep: MaybeKeep = None, rule: RuleName = RECOMMENDED) -> None:
    """Write the page that explains the data and the choice: OUT/report.html.

    DATA is CSV, Parquet, NPZ, NPY, a folder of images by class, or a saved data set.
    Without --keep it is about dropping what looks wrong, as dris clean does.
    Example: dris report photos/ --keep 0.5
    """
    from dris.pipeline.choice import check_rule
    from dris.pipeline.wording import headline

    check_share(keep)
    (path,) = ask.files("report.html")
    data = ask.read()
    check_rule(rule, keep, canaries=ask.plants, n=len(data))
    decision, proxies = ask.decide(data, keep=keep, rule=rule)
    with ask.together() as writer:
        files = _page(ask, decision, [path], writer)
    ask.talk.say(headline(decision))
    _say(ask, decision, None)
    if files:
        ask.talk.say(f"wrote {path}")
    ask.result("report", decision, proxies, files, {"headline": headline(decision)})


def rules() -> None:
    """List the rules by which examples can be chosen, a line each.

    Example: dris rules
    """
    from dris.core.select.rules import RULES

    wide = max(map(len, RULES))
    typer.echo(f"{RECOMMENDED:<{wide}}  what the data suggest, or nothing where no rule is safe")
    for rule in RULES.values():
        typer.echo(f"{rule.name:<{wide}}  {rule.about}")


def _say(ask: Request, decision: "Decision", kept: Path | None) -> None:
    """The decision in words, and how to check it where the limit is loose."""
    for line in decision.lines():
        ask.talk.say(line)
    if not decision.limits:
        return
    check = "dris audit"
    if kept is not None:
        check = ask.step("audit", "draw", kept, written=decision.data)
    sample = f"check a sample for a limit that needs no assumption: {check}"
    if max(most.share for most in decision.corruption) > UNTOLD * ask.at_most:
        ask.talk.say(
            f"so     how many labels are wrong cannot be told from canaries here, up to "
            f"{ask.at_most:.0%} are allowed for; if fewer surely are, say so with --at-most, or "
            f"{sample}"
        )
    elif decision.limit_says == "not to be trusted":
        ask.talk.say(f"so     plant other --canaries, or {sample}")
    elif decision.limit_says == "nothing":
        less = "" if decision.keep is None else "keep less, or "
        ask.talk.say(f"so     {less}{sample}")


def _suffix(data: "LabelledData") -> str:
    from dris.data.formats import suffix_for

    return suffix_for(data)


def _listed(files: list[Path]) -> str:
    *first, last = map(str, files)
    return f"{', '.join(first)} and {last}" if first else last


def _page(ask: Request, decision: "Decision", pages: list[Path], writer: "Writer") -> list[Path]:
    """Write the page where one was asked for and there is something to show."""
    from dris.report_page.page import write_page

    if decision.ensemble is None and decision.suspects is None:
        return []
    for path in pages:
        write_page(decision, path, title=ask.title, recipe=ask.recipe(decision), writer=writer)
    return pages


def _write_json(values: Any, path: Any, writer: "Writer") -> None:
    text = json.dumps(values, sort_keys=True, indent=1, allow_nan=False) + "\n"
    writer.write(path, [text.encode()])
