"""`dris review`: correct labels in the browser, or exchange answers with other tools."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dris.cli.data_options import READING, Request, again, takes_request
from dris.core.errors import InputError

if TYPE_CHECKING:
    from dris.review_app.corrected import Corrections

DECIDING = (
    *("records", "proxies", "epochs", "model", "encoder", "seed", "workers", "device", "store"),
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(takes_request(review, *READING, *DECIDING, "out", "force", "as_json"))


def review(
    ask: Request,
    reviewer: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who answers [your login name].")
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", help="On 127.0.0.1 [any free one].")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    answers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of answers [beside the data].")
    ] = None,
    sample: Annotated[
        int, typer.Option(metavar="N", min=0, help="Random labels mixed in, for a limit.")
    ] = 60,
    take: Annotated[
        Path | None,
        typer.Option("--import", metavar="FILE", help="Take answers in, write OUT/corrected.*."),
    ] = None,
    give: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write the queue to fill in.")
    ] = None,
    tool: Annotated[
        str, typer.Option("--as", metavar="HOW", help="Of both: csv, label-studio or argilla.")
    ] = "csv",
) -> None:
    """Look at suspects in the browser and correct them; every answer is saved at once.

    DATA is as for dris clean. Interrupted, the same command goes on where it was.
    Example: dris review people.csv --label income --id person --reviewer ana
    """
    from dris.review_app.review import check_review, review_data

    if not ask.data:
        raise InputError("no data was named; pass a file or a folder: dris review DATA")
    check_review(serve=take is None and give is None, tool=tool, port=port, reviewer=reviewer)
    ask.writer(take).refuse(*([] if give is None else [give]))
    data = ask.read()

    def decide_again(written: Path, corrections: "Corrections") -> list[str]:
        from dris.report_page.page import write_page

        new = replace(ask, data=[written], trusted=corrections.column, out=ask.out / "again")
        new = replace(new, force=True)
        if data.origin.format == "images":  # the table of paths that was just written
            new = replace(new, id="id", allow_outside=True)
        (page,) = new.files("report.html")
        decision, _ = new.decide(new.read())
        if decision.ensemble is not None:
            recipe = new.recipe(decision)
            write_page(decision, page, title=new.title, recipe=recipe, writer=new.writer())
            return [*decision.lines(), f"wrote {page}"]
        return decision.lines()

    def tell(line: str) -> None:
        ask.talk.say(line)
        if line.startswith("open "):
            ask.talk.say(f"Ctrl-C ends it; to go on: {again()}")

    done = review_data(
        data,
        source=ask.data,
        answers=answers,
        reviewer=reviewer,
        sample=sample,
        seed=ask.seed,
        out=ask.out,
        import_from=take,
        export_to=give,
        tool=tool,
        port=port,
        open_browser=not no_open,
        title=ask.title,
        trusted=ask.trusted,
        decide=lambda data: replace(ask, no_harm=True).decide(data)[0],
        decide_again=decide_again,
        writer=ask.writer(take),
        tell=tell,
    )
    for line in done.lines():
        ask.talk.say(line)
    if give is not None and take is None:
        ask.talk.say(f"filled in, take it back: {_import_step(ask, give, tool)}")
    if done.corrections is not None:
        later = replace(ask, trusted=done.corrections.column).step(
            "clean", done.files[0], written=data
        )
        ask.talk.say(f"later runs never drop what is trusted: {later}")
    ask.talk.result({"command": "review", **done.to_dict()})


def _import_step(ask: Request, file: Path, tool: str) -> str:
    """The command that takes a filled-in file back."""
    words = ["--import", str(file), *([] if tool == "csv" else ["--as", tool])]
    return f"{ask.step('review', *(ask.data or []))} {shlex.join(words)}"
