"""The commands about a user's own data: score, prune, weights, judge, report."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dris.cli.options import Keep
from dris.cli.requests import Request, takes_request
from dris.core.errors import InputError

if TYPE_CHECKING:
    from dris.core.certify.subset_limit import ContaminationLimit
    from dris.core.judge.judgement import Judgement
    from dris.decide.scored import Scored

RECOMMENDED = "recommended"
RuleOrVerdict = Annotated[
    str, typer.Option("--rule", metavar="NAME", help="Such as gated, rank_variance, aum_mean.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (score, prune, weights, judge, report):
        app.command()(takes_request(command))


def score(ask: Request) -> None:
    """Train proxies and write every score: OUT/scores.parquet and OUT/recipe.json.

    DATA is CSV, Parquet, NPZ, NPY, a folder of images by class, or a saved data set.
    Example: dris score people.csv --label income --id person
    """
    scores_file, recipe_file = ask.files("scores.parquet", "recipe.json")
    if ask.records and not ask.data:
        _score_records(ask)
        return
    from dris.data.scorefile import ScoreFile, write_scores

    data = ask.read()
    scored, proxies = ask.score(data)
    flags = {"canary": scored.planted(), "trusted": data.trusted}
    for kind in scored.canaries:
        flags[f"canary_{kind.kind}"] = kind.mask()
    texts = {"given": data.written()}
    if "rival" in scored.dynamics.columns:
        texts["suggested"] = data.written(scored.suggested())
    recipe = ask.recipe(scored)
    found = scored.scores()
    note = {"fingerprint": data.origin.fingerprint, "seed": ask.seed}
    write_scores(ScoreFile(data.ids, found, flags, note, texts), scores_file, force=ask.force)
    _write_json(recipe, recipe_file)
    ask.talk.say(f"scored {len(data):,} examples by {len(found)} scores: {', '.join(found)}")
    ask.talk.say(f"wrote {scores_file} and {recipe_file}")
    ask.talk.result(
        {
            "command": "score",
            "examples": len(data),
            "scores": list(found),
            "canaries": int(scored.planted().sum()),
            "proxies": proxies,
            "files": [str(scores_file), str(recipe_file)],
        }
    )


def _score_records(ask: Request) -> None:
    """Scores of dynamics that somebody else recorded, without the data."""
    from dris.core.dynamics.history import Dynamics
    from dris.data.scorefile import ScoreFile, write_scores
    from dris.decide.scored import scores_of

    found = ask.imported()
    if isinstance(found, Dynamics):
        found = ScoreFile(found.ids, scores_of(found), note=dict(found.provenance))
    path = write_scores(found, ask.out / "scores.parquet", force=ask.force)
    recipe = ask.out / "recipe.json"
    _write_json({"imported": [str(p) for p in ask.records or []], **found.note}, recipe)
    names = list(found.scores)
    ask.talk.say(f"imported {len(found):,} examples: {', '.join(names)}")
    ask.talk.say(f"wrote {path} and {recipe}")
    files = [str(path), str(recipe)]
    values = {"command": "score", "examples": len(found), "scores": names, "files": files}
    ask.talk.result(values)


def prune(
    ask: Request,
    keep: Keep = 0.25,
    rule: RuleOrVerdict = RECOMMENDED,
    written: Annotated[
        str, typer.Option("--as", metavar="HOW", help="What to write: data, ids or column.")
    ] = "data",
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
) -> None:
    """Keep the examples worth training on: OUT/kept.* and OUT/report.html.

    DATA is a table, arrays, images by class or a saved data set. Trusted examples stay.
    Example: dris prune people.csv --label income --keep 0.25
    """
    from dris.core.certify.subset_limit import widest
    from dris.core.checks import count_of
    from dris.core.judge.judgement import TOO_GOOD
    from dris.data.formats import suffix_for
    from dris.data.outputs import write_data, write_ids

    if written not in ("data", "ids", "column"):
        raise InputError(f"--as must be data, ids or column, got {written!r}")
    _check_rule(ask, rule)
    data = ask.read()
    count_of(keep, len(data), "keep")
    suffix = ".csv" if written == "ids" else suffix_for(data)
    (kept_file, *report_file) = ask.files(f"kept{suffix}", *([] if no_report else ["report.html"]))
    scored, proxies = ask.score(data)
    verdict = scored.judge(keep) if scored.canaries else None
    used = _used(rule, verdict)
    chosen = scored.choose(used, keep)
    kept = scored.kept(chosen)
    corruption = scored.corruption()
    limits = scored.certificates(chosen, corruption=corruption)
    if written == "ids":
        write_ids(data, kept_file, positions=kept, force=ask.force)
    elif written == "data":
        write_data(data, kept_file, positions=kept, force=ask.force)
    else:
        write_data(data, kept_file, columns=_columns(scored, used, kept), force=ask.force)
    files = [kept_file, *report_file]
    for path in report_file:
        _write_report(ask, scored, verdict, used, keep, path)
    say = ask.talk.say
    trusted = int(data.trusted.sum())
    stays = f", all {trusted:,} trusted among them" if trusted else ""
    say(f"kept {kept.size:,} of {len(data):,} examples by {used}{stays}")
    if short := chosen.parameters.get("short"):
        say(f"  short    {short:,} fewer than asked for pass the gate, the others look wrong")
    if limits:
        check = f"dris audit draw {kept_file}{ask.flags()}" if written == "data" else "dris audit"
        _say_limit(ask, widest(limits), max(most.share for most in corruption), check)
        if verdict is not None and verdict.hides:
            say(f"  but      {TOO_GOOD}: audit what is left, or plant other --canaries")
    if verdict is not None:
        say(f"  verdict  {verdict.regime}: {verdict.rule}; {verdict.reason}")
    say(f"wrote {' and '.join(map(str, files))}")
    ask.talk.result(
        {
            "command": "prune",
            "examples": len(data),
            "kept": int(kept.size),
            "keep": keep,
            "rule": used,
            "short": int(short or 0),
            "trusted": trusted,
            "certificates": [limit.to_dict() for limit in limits],
            "verdict": None if verdict is None else verdict.to_dict(),
            "proxies": proxies,
            "files": [str(path) for path in files],
        }
    )


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
    import numpy as np

    from dris.core.choose.importance import importance
    from dris.core.scores.formulas import SCORES
    from dris.data.outputs import write_ids
    from dris.data.scorefile import ScoreFile, write_scores

    if rule not in SCORES:
        raise InputError(f"weights need a score, one of {', '.join(SCORES)}, got {rule!r}")
    if written not in ("csv", "parquet"):
        raise InputError(f"--as must be csv or parquet, got {written!r}")
    importance([1.0, 2.0], smoothing=smoothing, weight_exponent=exponent)  # before training
    (path,) = ask.files(f"weights.{written}")
    data = ask.read()
    scored, proxies = ask.score(data)
    open_ = ~scored.planted()
    plan = importance(
        SCORES[rule](scored.dynamics)[open_], smoothing=smoothing, weight_exponent=exponent
    )
    columns = {name: np.zeros(len(data)) for name in ("probability", "weight")}
    columns["probability"][open_], columns["weight"][open_] = plan.probabilities, plan.weights
    if written == "csv":
        write_ids(data, path, columns=columns, force=ask.force)
    else:
        write_scores(ScoreFile(data.ids, columns), path, force=ask.force)
    sizes = {
        "effective_size": plan.effective_size,
        "concentration_size": plan.concentration_size,
        "largest_weight": plan.largest_weight,
    }
    count = int(open_.sum())
    ask.talk.say(f"{count:,} examples weighted by {rule}, {len(data) - count:,} canaries get 0")
    ask.talk.say(f"  effective size      {plan.effective_size:,.0f} (a full pass is worth as many)")
    ask.talk.say(f"  concentration size  {plan.concentration_size:,.0f} (carry the draws)")
    ask.talk.say(f"  largest weight      {plan.largest_weight:.3g}")
    ask.talk.say(f"wrote {path}")
    ask.talk.result(
        {"command": "weights", "rule": rule, **sizes, "proxies": proxies, "files": [str(path)]}
    )


def judge(ask: Request, keep: Keep = 0.25) -> None:
    """Say what kind of data this is, which rule fits, and what is certified. Writes no result.

    DATA is CSV, Parquet, NPZ, NPY, a folder of images by class, or a saved data set.
    Example: dris judge people.csv --label income --id person --keep 0.5
    """
    from dris.core.checks import count_of

    if ask.records or ask.canaries == "none":
        raise InputError("a verdict needs canaries; leave out --from and --canaries none")
    data = ask.read()
    count_of(keep, len(data), "keep")
    scored, proxies = ask.score(data)
    verdict = scored.judge(keep)
    ask.talk.say(str(verdict))
    ask.talk.result({"command": "judge", **verdict.to_dict(), "proxies": proxies})


def report(ask: Request, keep: Keep = 0.25, rule: RuleOrVerdict = RECOMMENDED) -> None:
    """Write the page that explains the data and the choice: OUT/report.html.

    DATA is CSV, Parquet, NPZ, NPY, a folder of images by class, or a saved data set.
    Example: dris report photos/ --keep 0.5
    """
    from dris.core.checks import count_of

    _check_rule(ask, rule)
    (path,) = ask.files("report.html")
    data = ask.read()
    count_of(keep, len(data), "keep")
    scored, proxies = ask.score(data)
    verdict = scored.judge(keep) if scored.canaries else None
    unusable = rule == RECOMMENDED and verdict is not None and verdict.subset is None
    used = "rank_variance" if unusable else _used(rule, verdict)
    said = _write_report(ask, scored, verdict, used, keep, path)
    ask.talk.say(said)
    ask.talk.say(f"wrote {path}")
    ask.talk.result(
        {
            "command": "report",
            "headline": said,
            "rule": used,
            "verdict": None if verdict is None else verdict.to_dict(),
            "proxies": proxies,
            "files": [str(path)],
        }
    )


def _check_rule(ask: Request, rule: str) -> None:
    """Refuse, before anything trains, a rule that is not there or lacks its canaries."""
    from dris.core.choose.rules import GATED, RULES

    if rule not in (*RULES, RECOMMENDED):
        raise InputError(f"--rule must be one of {', '.join(RULES)}, got {rule!r}")
    if rule in (*GATED, RECOMMENDED) and (ask.records or ask.canaries == "none"):
        raise InputError(
            f"the {rule} rule needs canaries, and --from or --canaries none leaves it without; "
            "name a --rule such as rank_variance"
        )


def _used(rule: str, verdict: "Judgement | None") -> str:
    if rule != RECOMMENDED or verdict is None:
        return rule
    if verdict.subset is None:
        raise InputError(
            f"no rule is safe with these proxies ({verdict.reason}); change --epochs or --model, "
            "or name a --rule to go on all the same"
        )
    return verdict.rule


def _columns(scored: "Scored", rule: str, kept: Any) -> dict[str, Any]:
    """What --as column adds: whether an example is kept, and its score where the rule has one."""
    import numpy as np

    found: dict[str, Any] = {"dris_kept": np.isin(np.arange(len(scored.data)), kept)}
    scores = scored.scores()
    if rule in scores:
        found[f"dris_{rule}"] = scores[rule]
    return found


def _write_report(
    ask: Request,
    scored: "Scored",
    verdict: "Judgement | None",
    rule: str,
    keep: float,
    path: Any,
) -> str:
    from dris.report.page import write_report
    from dris.report.scored import scored_report

    page = scored_report(
        scored, verdict, title=ask.title, rule=rule, keep=keep, recipe=ask.recipe(scored)
    )
    write_report(page, path, force=ask.force)
    return page.advice.headline


def _say_limit(ask: Request, limit: "ContaminationLimit", in_all: float, check: str) -> None:
    """The limit and its condition, or that it says nothing; and what to do where it is loose."""
    say = ask.talk.say
    if limit.vacuous or limit.share >= in_all:
        say("  limit    nothing of use is certified")
    else:
        say(
            f"  limit    at most {limit.share:.2%} of them are wrong ({limit.wrong:,} of "
            f"{limit.left:,}), with probability {1 - limit.delta:g}"
        )
        say(f"  if       {limit.conditions[0]}")
    if in_all > 0.9 * ask.at_most:
        say(
            f"  so       how many labels are wrong cannot be told from canaries here, up to "
            f"{ask.at_most:.0%} are allowed for; if fewer surely are, say so with --at-most, or "
            f"check a sample: {check}"
        )
    elif limit.vacuous:
        say(f"  so       keep less, or check a sample: {check}")


def _write_json(values: Any, path: Any) -> None:
    from dris.data.files import new_file

    with new_file(path, force=True) as temporary:  # refused before training when it was there
        temporary.write_text(json.dumps(values, sort_keys=True, indent=1, allow_nan=False) + "\n")
