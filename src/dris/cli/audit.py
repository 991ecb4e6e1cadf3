"""`dris audit`: draw what a person checks, read the verdicts, queue and apply corrections."""

from pathlib import Path
from typing import Annotated

import typer

from dris.cli import options as o
from dris.cli.saying import answer, bar, refuse_taken

audit = typer.Typer(no_args_is_help=True, help="Let a person check labels, and use what they say.")
Delta = Annotated[float, typer.Option(help="The limit may fail with this probability.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(audit, name="audit")


@audit.command()
def draw(
    kept: Annotated[list[Path], typer.Argument(help="The data that was kept.", metavar="KEPT...")],
    n: Annotated[int | None, typer.Option("--n", min=1, help="How many to check.")] = None,
    limit: Annotated[
        float | None,
        typer.Option(help="Or the share that should be proven."),
    ] = None,
    expect_wrong: Annotated[
        int,
        typer.Option(min=0, help="With --limit: how many may be wrong."),
    ] = 0,
    delta: Delta = 0.05,
    label: o.Label = None,
    id: o.Id = None,
    features: o.Features = None,
    without: o.Without = None,
    missing: o.Missing = "refuse",
    seed: o.Seed = 0,
    out: Annotated[Path, typer.Option(help="The CSV file to fill in.")] = Path("audit.csv"),
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Draw random kept examples for a person to check, 60 unless said otherwise.

    Fill in `verdict` (right, wrong, unsure) in every row, then: dris audit read audit.csv

    Example: dris audit draw kept.csv --label y --limit 0.02
    """
    from dris.cli.reading import read
    from dris.core.audit import audit_limit, audit_size
    from dris.core.errors import InputError
    from dris.report.auditing import beside, write_audit

    if n is not None and limit is not None:
        raise InputError("--n and --limit both say how many to check; pass one of them")
    refuse_taken([out, beside(out)], force=force)
    data = read(kept, label=label, id=id, features=features, without=without, missing=missing)
    count = min(60, len(data)) if n is None else n
    if limit is not None:
        needed = audit_size(size=len(data), share=limit, delta=delta, expected_wrong=expect_wrong)
        if needed is None:
            raise InputError(
                f"{expect_wrong} wrong of {len(data)} are more than a share of {limit:g}; "
                "no check proves that, so raise --limit"
            )
        count = needed
    write_audit(data, count, out, seed=seed, delta=delta)
    best = audit_limit(size=len(data), checked=count, wrong=0, delta=delta)
    one = audit_limit(size=len(data), checked=count, wrong=min(1, count), delta=delta)
    result = {"out": str(out), "size": len(data), "n": count, "seed": seed, "delta": delta}
    lines = [
        f"wrote {out}: {count:,} of {len(data):,} examples, drawn at random; "
        f"keep {beside(out)} beside it",
        "fill in verdict in every row (right, wrong or unsure), and corrected where you know it",
        f"none wrong would prove that at most {best.share:.2%} are; one wrong, {one.share:.2%}",
        f"then: dris audit read {out}",
    ]
    answer({**result, "limit_if_none_wrong": best.share}, lines, as_json=as_json)


@audit.command()
def read(
    checked: Annotated[Path, typer.Argument(help="The CSV file, filled in.", metavar="AUDIT.csv")],
    as_json: o.AsJson = False,
) -> None:
    """Give the exact limit on wrong labels that a finished audit proves.

    Unsure counts as wrong. Every row needs a verdict: who stops early has no limit.

    Example: dris audit read audit.csv
    """
    from dris.report.auditing import read_audit

    limit = read_audit(checked)
    lines = [str(limit)]
    if limit.wrong:
        lines.append(
            f"once the {limit.wrong:,} found are dropped or corrected: at most "
            f"{limit.share_after:.2%} of the rest"
        )
    answer(limit.to_dict(), lines, as_json=as_json)


@audit.command()
def queue(
    data: o.DataPaths,
    n: Annotated[int, typer.Option("--n", min=1, help="How many.")] = 100,
    label: o.Label = None,
    id: o.Id = None,
    trusted: o.Trusted = None,
    features: o.Features = None,
    without: o.Without = None,
    missing: o.Missing = "refuse",
    image_size: o.ImageSize = None,
    proxies: o.Proxies = 3,
    epochs: o.Epochs = 20,
    model: o.Model = None,
    seed: o.Seed = 0,
    workers: o.Workers = None,
    device: o.Device = "cpu",
    store: o.StoreFolder = None,
    out: Annotated[Path, typer.Option(help="The CSV file to fill in.")] = Path("review.csv"),
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Queue the labels that look most wrong, with the label the proxies would give.

    No canaries are planted, so that no label is hidden; trusted ones are not asked about.

    Example: dris audit queue data.csv --label y --n 100
    """
    from dris.cli.reading import read
    from dris.core.arrayfile import write_atomically
    from dris.core.review import review_queue
    from dris.core.scores import aum_mean
    from dris.data.looks import looks
    from dris.learn.scoring import Settings, score_data
    from dris.report.ticks import questions

    refuse_taken([out], force=force)
    found = read(
        data,
        label=label,
        id=id,
        trusted=trusted,
        features=features,
        without=without,
        missing=missing,
        image_size=image_size,
    )
    settings = Settings(proxies, epochs, o.names_in(model), seed, canaries=())
    with bar("proxies") as progress:
        scored = score_data(
            found, settings, workers=workers, device=device, store=store, progress=progress
        )
    asked = review_queue(
        aum_mean(scored.dynamics), found.labels, scored.suggested(), n, skip=found.trusted
    )
    rows = [
        (str(found.ids[at]), found.names[given], found.names[other])
        for at, given, other in zip(
            asked.positions.tolist(), asked.given.tolist(), asked.suggested.tolist(), strict=True
        )
    ]
    write_atomically(out, [questions(rows, looks(found, asked.positions))])
    doubted = int((asked.given != asked.suggested).sum())
    lines = [
        f"wrote {out}: the {len(asked):,} most suspicious of {len(found):,} labels; for {doubted:,} "
        "of them the proxies would give another",
        "fill in verdict (right, wrong or unsure), and corrected where it is wrong",
        f"then: dris audit apply {' '.join(map(str, data))} {out} --out corrected.csv",
    ]
    result = {"out": str(out), "queued": len(asked), "examples": len(found), "doubted": doubted}
    answer(result, lines, as_json=as_json)


@audit.command()
def apply(
    data: Annotated[Path, typer.Argument(help="The data that was reviewed.", metavar="DATA")],
    review: Annotated[
        Path, typer.Argument(help="Queue, audit or the page's export.", metavar="REVIEW.csv")
    ],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    label: o.Label = None,
    id: o.Id = None,
    trusted: o.Trusted = None,
    features: o.Features = None,
    without: o.Without = None,
    missing: o.Missing = "refuse",
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Write the data with corrections made, and a column that marks labels a person vouches for.

    Rows called wrong without a correction are dropped; unsure ones stay as they are.

    Example: dris audit apply data.csv review.csv --label y --out corrected.csv
    """
    from dris.cli.reading import read
    from dris.report.reviewing import write_reviewed
    from dris.report.ticks import read_ticks

    refuse_taken([out], force=force)
    ticks = read_ticks(review)
    found = read(
        [data],
        label=label,
        id=id,
        trusted=trusted,
        features=features,
        without=without,
        missing=missing,
    )
    done = write_reviewed(found, ticks, out, trusted=trusted, force=force)
    told = "" if found.origin.label == "label" else f" --label {found.origin.label}"
    lines = [
        f"wrote {out}: {done.corrected:,} labels corrected, {done.trusted:,} trusted in all, "
        f"{done.dropped:,} rows dropped that are wrong and have no other label, "
        f"{done.unsure:,} unsure left as they are",
        f"later runs never drop what is trusted: dris score {out}{told} --trusted {done.column}",
    ]
    answer({"out": str(out), **done.to_dict()}, lines, as_json=as_json)
