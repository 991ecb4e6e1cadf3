"""`dris audit`: draw random examples for a person to check, and read the limit they prove."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dris.cli.data_options import AsJson, DataOptions, option
from dris.cli.output import Output

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

    Fill in answer (right, wrong, unsure) in every row, then: dris audit read audit.csv
    Example: dris audit draw kept.csv --label y --limit 0.02
    """
    from dris.pipeline.audit import beside, write_audit

    writer = options.writer()
    writer.refuse(out, beside(out))
    data = options.read_labels()
    drawn = write_audit(
        data,
        out,
        n,
        limit=limit,
        expect_wrong=expect_wrong,
        seed=options.seed,
        delta=delta,
        writer=writer,
    )
    count, best, one = drawn.positions.size, drawn.if_none_wrong, drawn.if_one_wrong
    output = options.output
    output.say(f"wrote {out}: {count:,} of {len(data):,} examples, drawn at random")
    output.say(f"wrote {beside(out)}: what was drawn from what; keep it beside the CSV file")
    output.say("fill in answer in every row (right, wrong or unsure), and corrected if you know it")
    output.say(
        f"none wrong would prove at most {best.share:.2%}, one wrong at most {one.share:.2%}"
    )
    output.say(f"then: {shlex.join(['dris', 'audit', 'read', str(out)])}")
    output.result(
        {
            "command": "audit draw",
            "out": str(out),
            "size": len(data),
            "n": count,
            "seed": options.seed,
            "delta": delta,
            "limit_if_none_wrong": best.share,
        }
    )


def read(
    checked: Annotated[Path, typer.Argument(metavar="AUDIT.csv", hidden=True)],
    as_json: AsJson = False,
) -> None:
    """Give the exact limit on wrong labels that a finished audit proves.

    Unsure counts as wrong. Every row needs an answer: an audit that stops early has no limit.
    Example: dris audit read audit.csv
    """
    from dris.pipeline.audit import read_audit

    limit, output = read_audit(checked), Output(as_json=as_json)
    output.say(str(limit))
    if limit.wrong:
        output.say(
            f"without the {limit.wrong:,} that are not right, or with them corrected: at most "
            f"{limit.share_after:.2%} of the rest"
        )
    output.result({"command": "audit read", **limit.to_dict()})
