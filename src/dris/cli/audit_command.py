"""`dris audit`: draw what a person checks, read the verdicts, queue and apply corrections."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dris.cli.data_options import READING, Request, takes_request

audit = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Let a person check labels, and use what they say: by CSV files. "
    "dris review does it in the browser.",
)
OutFile = Annotated[Path, typer.Option("--out", metavar="FILE", help="The CSV file to fill in.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    proxies = ("proxies", "epochs", "model", "encoder", "seed", "workers", "device", "store")
    audit.command()(takes_request(draw, *READING, "seed", "force", "as_json"))
    audit.command()(takes_request(read, "as_json"))
    audit.command()(takes_request(queue, *READING, *proxies, "force", "as_json"))
    audit.command()(takes_request(apply, *READING, "force", "as_json"))
    app.add_typer(audit, name="audit")


def draw(
    ask: Request,
    n: Annotated[int | None, typer.Option("--n", metavar="N", help="How many [60].")] = None,
    limit: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Or what should be proven, in place of N.")
    ] = None,
    expect_wrong: Annotated[
        int, typer.Option(metavar="N", help="With --limit: though so many are wrong.")
    ] = 0,
    delta: Annotated[float, typer.Option(metavar="P", help="The limit may fail so often.")] = 0.05,
    out: OutFile = Path("audit.csv"),
) -> None:
    """Draw random examples of the data that was kept, for a person to check.

    Fill in verdict (right, wrong, unsure) in every row, then: dris audit read audit.csv
    Example: dris audit draw kept.csv --label y --limit 0.02
    """
    from dris.core.certify.random_audit import audit_limit, audit_size
    from dris.core.errors import InputError
    from dris.core.files import made_folder
    from dris.pipeline.audit import beside, write_audit

    if n is not None and limit is not None:
        raise InputError("--n and --limit both say how many to check; pass one of them")
    writer = ask.writer()
    writer.refuse(out, beside(out))
    data = ask.read_labels()
    count = min(60, len(data)) if n is None else n
    if limit is not None:
        needed = audit_size(size=len(data), share=limit, delta=delta, expected_wrong=expect_wrong)
        if needed is None:
            raise InputError(
                f"{expect_wrong} wrong of {len(data)} are more than a share of {limit:g}; "
                "no check proves that, so raise --limit"
            )
        count = needed
    made_folder(out.parent)
    write_audit(data, count, out, seed=ask.seed, delta=delta, writer=writer)
    best, one = (
        audit_limit(size=len(data), checked=count, wrong=wrong, delta=delta) for wrong in (0, 1)
    )
    talk = ask.talk
    talk.say(f"wrote {out}: {count:,} of {len(data):,} examples, drawn at random")
    talk.say(f"wrote {beside(out)}: what was drawn from what; keep it beside the CSV file")
    talk.say("fill in verdict in every row (right, wrong or unsure), and corrected if you know it")
    talk.say(f"none wrong would prove at most {best.share:.2%}, one wrong at most {one.share:.2%}")
    talk.say(f"then: {shlex.join(['dris', 'audit', 'read', str(out)])}")
    talk.result(
        {
            "command": "audit draw",
            "out": str(out),
            "size": len(data),
            "n": count,
            "seed": ask.seed,
            "delta": delta,
            "limit_if_none_wrong": best.share,
        }
    )


def read(
    ask: Request, checked: Annotated[Path, typer.Argument(metavar="AUDIT.csv", hidden=True)]
) -> None:
    """Give the exact limit on wrong labels that a finished audit proves.

    Unsure counts as wrong. Every row needs a verdict: who stops early has no limit.
    Example: dris audit read audit.csv
    """
    from dris.pipeline.audit import read_audit

    limit, talk = read_audit(checked), ask.talk
    talk.say(str(limit))
    if limit.wrong:
        talk.say(
            f"without the {limit.wrong:,} that are not right, or with them corrected: at most "
            f"{limit.share_after:.2%} of the rest"
        )
    talk.result({"command": "audit read", **limit.to_dict()})


def queue(
    ask: Request,
    n: Annotated[int, typer.Option("--n", metavar="N", help="How many.")] = 100,
    scores: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Of dris score on this data: train nothing."),
    ] = None,
    out: OutFile = Path("review.csv"),
) -> None:
    """Queue the labels that look most wrong, with the label the proxies would give.

    The proxies see no canaries, so that no label is hidden; trusted ones are not asked about.
    Example: dris audit queue data.csv --label y --n 100
    """
    from dris.core.files import made_folder
    from dris.data.formats import suffix_for
    from dris.pipeline.corrections import asked_by_proxies, asked_by_scores, rows_of, scores_in

    writer = ask.writer(None if scores is None else scores_in(scores))
    writer.refuse(out)
    ask = replace(ask, canaries="none")
    found, talk = ask.read(), ask.talk
    if scores is not None:
        asked, hidden = asked_by_scores(found, scores, n)
        if hidden:
            talk.note(f"{hidden:,} labels were canaries in these scores and are not asked about")
    else:
        asked = asked_by_proxies(ask.decide(found)[0], n)
    made_folder(out.parent)
    writer.write(out, [rows_of(found, asked)])
    where = ask.data or []
    corrected = f"corrected{suffix_for(found)}"
    doubted = int((asked.given != asked.suggested).sum())
    talk.say(
        f"wrote {out}: the {len(asked):,} most suspicious of {len(found):,} labels; "
        f"for {doubted:,} of them the proxies would give another"
    )
    talk.say("fill in verdict (right, wrong or unsure), and corrected where it is wrong")
    talk.say(f"then: {ask.step('audit', 'apply', *where, out)} --out {corrected}")
    talk.say(f"or in the browser, with nothing to fill in: {ask.step('review', *where)}")
    talk.result(
        {
            "command": "audit queue",
            "out": str(out),
            "queued": len(asked),
            "examples": len(found),
            "doubted": doubted,
        }
    )


def apply(
    ask: Request,
    review: Annotated[Path, typer.Argument(metavar="REVIEW.csv", hidden=True)],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The data, corrected.")],
) -> None:
    """Write the data with corrections made, and a column of labels that a person vouches for.

    REVIEW.csv is a queue, an audit or the report's export. Rows that are wrong and have no
    correction are dropped; unsure ones stay as they are.
    Example: dris audit apply data.csv review.csv --label y --out corrected.csv
    """
    from dris.core.files import made_folder
    from dris.pipeline.answers import read_ticks
    from dris.pipeline.corrections import write_reviewed

    writer = ask.writer(review)
    writer.refuse(out)
    ticks = read_ticks(review)
    found, talk = ask.read_labels(), ask.talk
    made_folder(out.parent)
    done = write_reviewed(found, ticks, out, trusted=ask.trusted, writer=writer)
    talk.say(
        f"wrote {out}: {done.corrected:,} labels corrected, {done.trusted:,} trusted in all, "
        f"{done.dropped:,} dropped (wrong, and no other label known), "
        f"{done.unsure:,} unsure left as they are"
    )
    later = replace(ask, trusted=done.column).step("clean", out, written=found)
    talk.say(f"later runs never drop what is trusted: {later}")
    talk.result({"command": "audit apply", "out": str(out), **done.to_dict()})
