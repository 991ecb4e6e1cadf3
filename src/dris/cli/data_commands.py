"""The commands that read data: clean, check, prune, weights, review, audit, corrupt and rank."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dris.cli.data_options import DECIDING, DataOptions, Run, again, flag, names_in, option, share
from dris.core.errors import InputError
from dris.core.select.rule_parameters import PARAMETERS

if TYPE_CHECKING:
    from dris.core.select.rules import Rule
    from dris.review_app.session import Corrections

RECOMMENDED = "recommended"
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
    near_duplicates: Annotated[str, option("HOW", "list, or keep-one row of each group.")] = "list",
    scores: Scores = False,
    no_report: NoReport = False,
) -> None:
    """Drop the labels that are probably wrong, and only those: OUT/cleaned.*, report.html.

    FORMATS
    Example: dris clean people.csv --label income --id person
    """
    from dris.pipeline.lists import check_near_duplicates
    from dris.pipeline.route import clean as decide

    outputs = {"scores": scores, "report": not no_report, "columns": names_in(columns)}
    check_near_duplicates(near_duplicates)
    run = options.run(decide, options.read(), outputs, fix=fix, near_duplicates=near_duplicates)
    _print_decision(options, run)


_OF_WRITING = ("at_most", "skip_harm_check", "force", "verbose", "quiet")
CHECKING = tuple(name for name in DECIDING if name not in _OF_WRITING)


def check(
    options: DataOptions,
    max_noise: Annotated[
        float | None, option("SHARE", "Largest noise rate that is fine, 0.05 or 5%.", parser=share)
    ] = None,
) -> None:
    """Say whether more labels are wrong than allowed: a line, and exit code 0, 1 or 2 for CI.

    0 the noise rate is within the limit, 1 it is above, 2 cannot tell; 3 nothing was checked,
    for the data or the options break a rule.
    FORMATS
    Example: dris check people.csv --label income --max-noise 5%
    """
    from dris.pipeline.noise_check import check_limit, check_noise
    from dris.pipeline.route import clean

    if max_noise is None:
        raise InputError("check needs `max_noise`, the largest noise rate that is fine, such as 5%")
    check_limit(max_noise)
    decision, _ = replace(options, skip_harm_check=True).decide(clean, options.read())
    done = check_noise(decision, max_noise)
    options.output.say(str(done))
    options.output.result({"command": "check", **done.to_dict()})
    raise typer.Exit(done.exit_code)


def _parameter(name: str, metavar: str | None = "X") -> object:
    """A parameter of rules, which `dris rules` lists: all of them would not fit a screen here."""
    return typer.Option(f"--{name}", metavar=metavar, help=PARAMETERS[name][1], hidden=True)


def prune(
    options: DataOptions,
    keep: Annotated[
        float | None, option("SHARE", "Share of the examples to keep, 0.25 or 25%.", parser=share)
    ] = None,
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
    from dris.core.select.rules import rule_of
    from dris.pipeline.choice import check_rule
    from dris.pipeline.route import prune as decide

    if keep is None:
        raise InputError(
            "prune needs `keep`, the share of the examples to keep, such as 0.25; "
            "dris clean drops only what is probably wrong"
        )
    if not 0 < keep <= 1:
        meant = 1 < keep <= 100 and keep == int(keep)
        percent = f"; {keep:g} of 100 is {keep:g}%" if meant else ""
        raise InputError(f"`keep` must be in (0, 1], got {keep:g}{percent}")
    parameters = (beta, scaled, epoch, share, detector, recall, chooser, fill)
    made: str | Rule = rule
    if any(value is not None for value in parameters):
        made = rule_of(rule, **dict(zip(PARAMETERS, parameters, strict=True)))
    data = options.read()
    planted = not options.records and options.canaries != "none"
    check_rule(made, keep, canaries=planted, n=len(data))
    outputs = {"form": form, "scores": scores, "report": not no_report}
    run = options.run(decide, data, outputs, keep=keep, rule=made)
    _print_decision(options, run)


def weights(
    options: DataOptions,
    rule: Annotated[str, option("NAME", "p_wrong, or a score to draw by.")] = "p_wrong",
    smoothing: Annotated[float, option("X", "Of a score: towards uniform draws.")] = 0.1,
    exponent: Annotated[float, option("X", "Of a score: 1 unbiased, 0 all alike.")] = 1.0,
    form: Annotated[str, option("HOW", "What to write: csv or parquet.", "--as")] = "csv",
) -> None:
    """Write how often to draw each example and how much it counts: OUT/weights.csv.

    FORMATS
    By P(wrong) likely wrong labels count for less; by a score canaries get 0 and 0.
    Example: dris weights people.csv --label income --id person
    """
    from dris.pipeline.decision import check_weighting
    from dris.pipeline.route import weights as decide
    from dris.pipeline.wording import describe_data

    check_weighting(rule, smoothing=smoothing, exponent=exponent)
    how = {"score": rule, "smoothing": smoothing, "exponent": exponent}
    run = options.run(decide, options.read(), {"form": form}, **how)
    weighting: Any = run.decision.weighting
    plan, drawn = weighting.importance, weighting.positions.size
    size, largest = weighting.effective_size, float(weighting.weights.max())
    sizes = {"effective_size": size, "largest_weight": largest}
    by, left_out = "P(wrong)" if rule == "p_wrong" else rule, len(run.decision) - drawn
    lines = [f"{drawn:,} examples weighted by {by}"]
    if left_out:
        lines.append(f"{left_out:,} canaries get weight 0: their labels are flipped")
    lines.append(f"Effective size {size:,.0f}: a full pass is worth that many examples")
    if plan is not None:
        sizes["concentration_size"] = most = plan.concentration_size
        lines.append(f"Concentration size {most:,.0f}: that many get most draws")
    options.output.say(describe_data(run.decision, options.title))
    for line in (*lines, f"Largest weight {largest:.3g}"):
        options.output.say(line, indent=2)
    options.output.say("")
    options.print_files(run, weighted_by=rule, **sizes)


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


def _print_decision(options: DataOptions, run: Run) -> None:
    """The decision in words, the files, and the command to go on with."""
    from dris.pipeline import wording

    decision, say = run.decision, options.output.say
    lines = wording.facts(decision, options.title)
    helps = decision.harm is not None and decision.harm.says == "helps"
    warn = wording.drops_nothing(decision)
    styles = {"change": "green" if helps else "", "kept": "yellow" if warn else ""}
    say(lines.pop("data"))
    lines.pop("notes" if options.verbose else "limit", "")  # counted where they are not listed
    for name, text in lines.items():
        if name == "clearest":
            say("")
        say(text, styles.get(name, ""), indent=2)
    for note in wording.notes_to_print(decision):
        say(f"Note: {note}", "yellow", indent=2)
    for note in wording.column_notes(decision) if options.verbose else ():
        say(f"Note: {note}", indent=2)
    if options.verbose and decision.judgement is not None:
        if not wording.limit(decision):
            say("No limit: canaries do not bound the wrong labels here; dris audit does", indent=2)
        say(f"Checks ({wording.kind_of_noise(decision)}):", indent=2)
        for one in decision.judgement.checks.values():
            say(str(one), indent=4)
    say("")
    options.print_files(run)
    say(f"Next: {_next_step(options, run)}", whole=True)


def _next_step(options: DataOptions, run: Run) -> str:
    """The command to go on with, which finds what this one trained."""
    from dris.pipeline.wording import next_step

    decision = run.decision
    if decision.keep is not None and run.form == "data":
        return options.step("audit", "draw", run.files[0], written=decision.data)
    words = next_step(decision)
    step = options.step(*words, *(options.data or []))
    if words[0] != "review":
        return step
    more = [word for path in options.records or () for word in ("--from", str(path))]
    more += [] if options.out == Path("dris-out") else ["--out", str(options.out)]
    return f"{step} {shlex.join(more)}".rstrip()


REVIEWING = (
    *("records", "proxies", "epochs", "model", "encoder", "seed", "workers", "device", "store"),
)


def review(
    options: DataOptions,
    reviewer: Annotated[str | None, option("NAME", "Who answers [your login name].")] = None,
    port: Annotated[int, option("N", "On 127.0.0.1 [any free one].")] = 0,
    no_open: Annotated[bool, flag("--no-open", "Open no browser.")] = False,
    answers: Annotated[Path | None, option("FILE", "File of answers [beside the data].")] = None,
    sample: Annotated[int, option("N", "Random labels mixed in, for a limit.", min=0)] = 60,
    take: Annotated[
        Path | None, option("FILE", "Take answers in, write OUT/corrected.*.", "--import")
    ] = None,
    give: Annotated[Path | None, option("FILE", "Write the queue to fill in.", "--export")] = None,
    tool: Annotated[str, option("HOW", "csv, label-studio or argilla.", "--as")] = "csv",
) -> None:
    """Look at suspects in the browser and correct them; every answer is saved at once.

    DATA is as for dris clean. Interrupted, the same command goes on where it was.
    Example: dris review people.csv --label income --id person --reviewer ana
    """
    from dris.pipeline.route import clean
    from dris.review_app.review import answers_beside, check_review
    from dris.review_app.review import review as review_labels

    check_review(serve=take is None and give is None, tool=tool, port=port, reviewer=reviewer)
    options.writer(take).refuse(*([] if give is None else [give]))
    data = options.read()

    def decide_again(written: Path, corrections: "Corrections") -> list[str]:
        from dris.report_page.outputs import write_outputs

        new = replace(options, data=[written], trusted=corrections.column, force=True)
        new = replace(new, out=options.out / "again")
        if data.origin.format == "images":  # the table of paths that was just written
            new = replace(new, id="id", allow_outside=True)
        decision, _ = new.decide(clean, new.read())
        recipe, writer = new.recipe_values(decision), new.writer()
        files = write_outputs(decision, new.out, title=new.title, recipe=recipe, writer=writer)
        return [*decision.lines(), *(f"Wrote {path}" for path in files)]

    def tell(line: str) -> None:
        options.output.say(line, whole=True)
        if line.startswith("open "):
            options.output.say(f"Ctrl-C ends it. To go on: {again()}", whole=True)

    done = review_labels(
        data,
        answers=answers or answers_beside(options.data, data, options.out),
        reviewer=reviewer,
        sample=sample,
        seed=options.seed,
        out=options.out,
        import_from=take,
        export_to=give,
        tool=tool,
        port=port,
        open_browser=not no_open,
        trusted=options.trusted,
        decide=lambda data: replace(options, skip_harm_check=True).decide(clean, data)[0],
        decide_again=decide_again,
        writer=options.writer(take),
        tell=tell,
    )
    for line in done.lines():
        options.output.say(line, whole=True)
    if give is not None and take is None:
        words = ["--import", str(give), *([] if tool == "csv" else ["--as", tool])]
        step = f"{options.step('review', *(options.data or []))} {shlex.join(words)}"
        options.output.say(f"Once it is filled in: {step}", whole=True)
    if done.corrections is not None:
        later = replace(options, trusted=done.corrections.column)
        step = later.step("clean", done.files[0], written=data)
        options.output.say(f"Next: {step}", whole=True)
    options.output.result({"command": "review", **done.to_dict()})


audit = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Check a random sample of labels by hand, for a limit that needs no assumption.",
)


def draw(
    options: DataOptions,
    n: Annotated[int | None, option("N", "How many [60].", "--n")] = None,
    limit: Annotated[float | None, option("SHARE", "Draw what it takes to prove this.")] = None,
    expect_wrong: Annotated[int, option("N", "With --limit: even if this many are wrong.")] = 0,
    delta: Annotated[float, option("P", "How often the limit may fail.")] = 0.05,
    out: Annotated[Path, option("FILE", "The CSV file to fill in.")] = Path("audit.csv"),
) -> None:
    """Draw random examples of the data that was kept, for a person to check.

    Fill in answer (right, wrong, unsure) in every row, then run: dris audit read audit.csv

    Example: dris audit draw kept.csv --label y --limit 0.02
    """
    from dris.pipeline.audit import beside, write_audit

    writer = options.writer()
    writer.refuse(out, beside(out))
    data = options.read_labels()
    how: dict[str, Any] = {"expect_wrong": expect_wrong, "seed": options.seed, "delta": delta}
    drawn = write_audit(data, out, n, limit=limit, writer=writer, **how)
    count, best, one = drawn.positions.size, drawn.if_none_wrong, drawn.if_one_wrong
    output = options.output
    output.say(f"Drew {count:,} of {len(data):,} rows at random")
    output.say('Fill in "answer" in every row: right, wrong or unsure', indent=2)
    output.say('Fill in "corrected" where you know the true label', indent=2)
    none, single = f"{best.share:.2%}".replace("%", " %"), f"{one.share:.2%}".replace("%", " %")
    output.say(f"If none is wrong, at most {none} of all labels are; if one is, {single}", indent=2)
    output.say("")
    output.files({out: "to fill in", beside(out): "the draw; keep it beside"})
    output.say(f"Next: {shlex.join(['dris', 'audit', 'read', str(out)])}", whole=True)
    sizes = {"size": len(data), "n": count, "limit_if_none_wrong": best.share}
    asked = {"out": str(out), "seed": options.seed, "delta": delta}
    output.result({"command": "audit draw", **asked, **sizes})


def read(
    options: DataOptions,
    checked: Annotated[Path, typer.Argument(metavar="AUDIT.csv", hidden=True)],
) -> None:
    """Give the exact limit on wrong labels that a finished audit proves.

    Unsure counts as wrong. Every row needs an answer: an audit that stops early has no limit.
    Example: dris audit read audit.csv
    """
    from dris.pipeline.audit import read_audit

    limit, output = read_audit(checked), options.output
    output.say(str(limit))
    if limit.wrong:
        output.say(
            f"Without these {limit.wrong:,}, or with them corrected: at most "
            f"{100 * limit.share_after:.2f} % of the rest"
        )
    output.result({"command": "audit read", **limit.to_dict()})


KINDS = ("uniform", "targeted", "pair", "instance", "transition")  # of core.noise.flips


def corrupt(
    options: DataOptions,
    out: Annotated[Path, option("FILE", "The copy to write.")],
    rate: Annotated[float, option("SHARE", "Share of labels to flip.")] = 0.2,
    kind: Annotated[str, option("KIND", f"One of {', '.join(KINDS)}.")] = "uniform",
) -> None:
    """Flip labels in a copy, and keep the truth beside it: FILE-truth.csv.

    uniform: any example, any other class. targeted: where an attacker's model has the largest
    gradients. pair: to the next class. instance: by a random function of the features.
    transition: each label is redrawn from its row of --matrix, whatever the rate.
    Example: dris corrupt data.csv --label y --rate 0.2 --kind targeted --out noisy.csv
    """
    from dris.core.files import make_folder
    from dris.data.outputs import write_data, write_ids
    from dris.data.transition_matrix import read_matrix
    from dris.learn.attack import corrupt_labels, truth_path
    from dris.learn.engines.processes import bar

    if kind not in KINDS:
        raise InputError(f"`kind` must be one of {', '.join(KINDS)}, got {kind!r}")
    if (kind == "transition") != (options.matrix is not None):
        raise InputError("`kind='transition'` and `matrix` go together; pass both")
    truth = truth_path(out)
    writer = options.writer()
    writer.refuse(out, truth)
    data = options.read()
    matrix = None if options.matrix is None else read_matrix(options.matrix, data.classes)
    make_folder(out.parent)
    with bar("attacker") as progress:
        noisy = corrupt_labels(
            data, rate, kind=kind, seed=options.seed, matrix=matrix, progress=progress
        )
    columns = {f"{data.origin.label}_true": data.given(), "flipped": noisy.flipped}
    with writer.together() as both:
        write_data(data, out, labels=noisy.given, writer=both)
        write_ids(data, truth, columns=columns, writer=both)
    flipped = int(noisy.flipped.sum())
    output = options.output
    output.say(f"Flipped {flipped:,} of {len(data):,} labels ({kind})")
    about = "the true labels, apart, so that no model learns them"
    output.files({out: "the data with flipped labels", truth: about})
    asked = {"out": str(out), "truth": str(truth), "kind": kind, "seed": options.seed}
    output.result({"command": "corrupt", **asked, "examples": len(data), "flipped": flipped})


RANKING = ("seed", "workers", "engine", "address", "cpus", "force", "as_json")


def rank(
    options: DataOptions,
    shards: Annotated[list[Path], typer.Argument(metavar="SHARDS", hidden=True)],
    out: Annotated[Path, option("FOLDER", "Folder for the output.")] = Path("dris-ranks"),
    losses: Annotated[
        str | None, option("A,B", "Loss columns [loss_0,loss_1,... or vectors in losses].")
    ] = None,
    id: Annotated[str | None, option("COLUMN", "Ids [id, else row numbers].")] = None,
    exact: Annotated[bool, flag("--exact", "Sort on disk: as in memory, bit for bit.")] = False,
    bits: Annotated[int, option("B", "2^B cells: no rank is off by over 2^(7-B).")] = 22,
    keep: Annotated[float | None, option("SHARE", "Also write the ids of the highest.")] = None,
) -> None:
    """Rank variance and mean rank of losses in Parquet shards, in constant memory.

    SHARDS are files, a pattern in quotes or a folder: a loss of each example from each proxy.
    Writes scores-00000.parquet, ... and says how far a score may be off the exact one; with --keep
    kept-00000.parquet, ... as well. Killed, the same command goes on where it was.
    Example: dris rank "losses/*.parquet" --keep 0.25 --out ranks
    """
    from dris.learn.engines.processes import bar
    from dris.learn.ranking.rank_shards import rank_shards

    output = options.output
    try:
        with bar("ranking") as progress:
            done = rank_shards(
                shards,
                out,
                id=id,
                losses=names_in(losses),
                exact=exact,
                bits=bits,
                keep=keep,
                seed=options.seed,
                force=options.force,
                workers=options.workers,
                engine=options.connect(),
                progress=progress,
            )
    except KeyboardInterrupt:
        output.note(f"what is finished is kept in {out}; to go on: {again()}")
        raise
    output.say(f"Ranked {done.examples:,} examples by {done.proxies} proxies")
    output.say(f"Wrote {len(done.scores)} shards of scores to {out}")
    if done.variance_error == 0:
        output.say("Ranks and rank variances are exact")
    else:
        output.say(f"Ranks are off by at most {max(done.rank_errors):.2g}")
        output.say(f"Rank variances are off by at most {done.variance_error:.2g}")
        output.say(f"Next: dris certify --rank-error {done.rank_error:.3g}", whole=True)
    if done.kept is not None:
        ties = f", {done.kept.tied:,} of them drawn among equals" if done.kept.tied else ""
        output.say(f"Kept {done.kept.count:,} with rank variance {done.kept.cut:.4g} or more{ties}")
    output.result({"command": "rank", **done.to_dict()})
