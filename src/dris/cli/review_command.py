"""`dris review`: correct labels in the browser, or exchange answers with other tools."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dris.cli.data_options import DataOptions, again, flag, option
from dris.core.errors import InputError

if TYPE_CHECKING:
    from dris.review_app.session import Corrections

DECIDING = (
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

    if not options.data:
        raise InputError("no data was named; pass a file or a folder: dris review DATA")
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
        return [*decision.lines(), *(f"wrote {path}" for path in files)]

    def tell(line: str) -> None:
        options.output.say(line)
        if line.startswith("open "):
            options.output.say(f"Ctrl-C ends it; to go on: {again()}")

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
        options.output.say(line)
    if give is not None and take is None:
        options.output.say(f"filled in, take it back: {_import_step(options, give, tool)}")
    if done.corrections is not None:
        later = replace(options, trusted=done.corrections.column).step(
            "clean", done.files[0], written=data
        )
        options.output.say(f"later runs never drop what is trusted: {later}")
    options.output.result({"command": "review", **done.to_dict()})


def _import_step(options: DataOptions, file: Path, tool: str) -> str:
    """The command that takes a filled-in file back."""
    words = ["--import", str(file), *([] if tool == "csv" else ["--as", tool])]
    return f"{options.step('review', *(options.data or []))} {shlex.join(words)}"
