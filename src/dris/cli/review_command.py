"""`dris review`: open the app in which people correct labels; export and import for other tools."""

import getpass
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dris.cli.data_options import READING, Request, again, takes_request
from dris.core.errors import InputError

if TYPE_CHECKING:
    from dris.data.labelled import LabelledData
    from dris.pipeline.corrections import Applied
    from dris.review_app.session import Desk
    from dris.review_app.worklist import Worklist


def register(app: typer.Typer) -> None:
    """Add the command."""
    deciding = (
        "records",
        "proxies",
        "epochs",
        "model",
        "encoder",
        "seed",
        "workers",
        "device",
        "store",
    )
    app.command()(takes_request(review, *READING, *deciding, "out", "force", "as_json"))


def review(
    ask: Request,
    reviewer: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who answers [your login name].")
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", help="On 127.0.0.1 [any free one].")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    ticks: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For answers [beside the data].")
    ] = None,
    sample: Annotated[
        int, typer.Option(metavar="N", min=0, help="Random labels mixed in, for a limit.")
    ] = 60,
    take: Annotated[
        Path | None, typer.Option("--import", metavar="FILE", help="Answers from another tool.")
    ] = None,
    give: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="The queue for one.")
    ] = None,
    kind: Annotated[
        str, typer.Option("--as", metavar="HOW", help="label-studio, argilla or csv.")
    ] = "csv",
) -> None:
    """Look at suspicious labels in the browser and correct them; every answer is saved at once.

    DATA is as for dris clean. Interrupted, the same command goes on where it was.
    Example: dris review people.csv --label income --id person --reviewer ana
    """
    from dris.review_app.exchange import EXCHANGES
    from dris.review_app.journal import journal_beside
    from dris.review_app.session import Desk, beginning
    from dris.review_app.session import reviewer as named

    if kind not in EXCHANGES:
        raise InputError(f"--as must be {', '.join(EXCHANGES)}, got {kind!r}")
    if not ask.data:
        raise InputError("no data was named; pass a file or a folder: dris review DATA")
    if give is not None:
        ask.writer(take).refuse(give)
    who = named(reviewer if reviewer is not None else _login())
    data = ask.read()
    here = ask.data[0].expanduser()
    path = ticks or journal_beside(here if here.exists() else ask.out / here.name)
    ask.writer().refuse(*(p for p in [path] if _is_input(ask, p)))
    features = None

    def decided() -> "Worklist":
        nonlocal features
        from dris.review_app.worklist import worklist_of

        decision, _ = replace(ask, no_harm=True).decide(data)
        features = None if decision.scored is None else decision.scored.table
        return worklist_of(decision, sample=sample, seed=ask.seed)

    journal, going_on = beginning(path, decided)
    with journal:
        desk = Desk(data, journal, features=features)
        state = desk.summary(who)
        told = "goes on" if going_on else "begins"
        ask.talk.say(
            f"the review {told} in {path}: {state['left']:,} of {state['cards']:,} labels left"
        )
        if take is not None or give is not None:
            _exchanged(ask, desk, take, give, kind, who)
            return
        _serve(ask, desk, data, who, port, not no_open)


def _exchanged(
    ask: Request, desk: "Desk", take: Path | None, give: Path | None, kind: str, who: str
) -> None:
    from dris.core.files import made_folder
    from dris.review_app.exchange import EXCHANGES, exported, taken_in

    title, taken = EXCHANGES[kind].title, 0
    if take is not None:
        taken = taken_in(desk, take, kind, who)
        ask.talk.say(f"took {taken:,} answers from {take} ({title})")
    if give is not None:
        made_folder(give.parent)
        ask.writer(take).write(give, [exported(desk, kind)])
        ask.talk.say(f"wrote {give}: {len(desk.worklist):,} labels for {title}")
    files = [] if give is None else [str(give)]
    values = {"command": "review", "taken": taken, "ticks": str(desk.journal.path), "files": files}
    ask.talk.result({**values, "left": desk.summary(who)["left"]})


def _serve(
    ask: Request, desk: "Desk", data: "LabelledData", who: str, port: int, browser: bool
) -> None:
    from dris.core.files import made_folder
    from dris.data.formats import suffix_for
    from dris.review_app.serve import serve_review
    from dris.review_app.session import Finishing

    path = ask.out / f"corrected{suffix_for(data)}"
    writer = replace(ask, force=True).writer()

    def write() -> "tuple[Path, Applied]":
        made_folder(ask.out)
        return path, desk.finish(path, trusted=ask.trusted, writer=writer)

    def decide_again(written: Path, done: "Applied") -> list[str]:
        from dris.report_page.page import write_page

        new = replace(ask, data=[written], trusted=done.column, out=ask.out / "again", force=True)
        if data.origin.format == "images":  # the table of paths that was just written
            new = replace(new, id="id", allow_outside=True)
        (page,) = new.files("report.html")
        decision, _ = new.decide(new.read())
        if decision.scored is not None:
            recipe = new.recipe(decision)
            write_page(decision, page, title=new.title, recipe=recipe, writer=new.writer())
            return [*decision.lines(), f"wrote {page}"]
        return decision.lines()

    def tell(address: str) -> None:
        ask.talk.say(f"open {address} (this machine only; the address is the key)")
        ask.talk.say(f"Ctrl-C ends it; to go on: {again()}")

    serve_review(
        desk,
        title=ask.title,
        who=who,
        finishing=Finishing(write, decide_again),
        port=port,
        open_browser=browser,
        tell=tell,
    )


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "reviewer"


def _is_input(ask: Request, path: Path) -> bool:
    """Whether the file of ticks would be one that is read as data."""
    return path.exists() and any(path.samefile(one) for one in ask.data or [] if one.exists())
