"""`dris.review`: exchange answers with other tools, or serve the app, in one function."""

import getpass
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dris.core.errors import InputError
from dris.core.files import make_folder
from dris.data.formats import suffix_for
from dris.data.labelled import LabelledData
from dris.data.reader import read_data
from dris.data.writer import Writer
from dris.learn.extras import require
from dris.pipeline.decision import Decision
from dris.pipeline.verbs import clean
from dris.review_app.corrected import Corrections
from dris.review_app.exchange import EXCHANGES, export_cards, import_answers, read_returned
from dris.review_app.journal import holds_review, journal_beside, open_journal
from dris.review_app.serve import check_port, serve_review
from dris.review_app.session import Finish, ReviewSession, check_reviewer
from dris.review_app.worklist import SAMPLE, Worklist, worklist_of

PathLike = str | Path


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """What came of a review.

    Attributes:
        answers: The file of answers.
        left: Cards that nobody has answered.
        imported: Answers of the imported file that were new.
        corrections: What was changed in the corrected data; None where none was written.
        files: The files that were written, the corrected data first.
    """

    answers: Path
    left: int
    imported: int = 0
    corrections: Corrections | None = None
    files: tuple[Path, ...] = ()

    def lines(self) -> list[str]:
        """The result in words."""
        lines = [f"wrote {path}" for path in self.files]
        if self.corrections is not None:
            done = self.corrections
            lines[0] += (
                f": {done.corrected:,} labels corrected, {done.trusted:,} trusted in all, "
                f"{done.dropped:,} dropped (wrong, and no other label known), "
                f"{done.unsure:,} unsure left as they are"
            )
            lines.insert(0, f"took in {self.imported:,} new answers")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        changed = {} if self.corrections is None else self.corrections.to_dict()
        files = [str(path) for path in self.files]
        counts = {"left": self.left, "imported": self.imported}
        return {"answers": str(self.answers), **counts, **changed, "files": files}


def review(data: Any, y: Any = None, *, label: str | None = None, **options: Any) -> ReviewResult:
    """Let people correct suspects in the browser; every answer is on the disk at once.

    Interrupted, the same call goes on where it was and trains nothing again. Takes the options of
    `review_data`; any other is one of `dris.read_data`.

    Args:
        data: A decision, or what `dris.read_data` takes.
        y: The labels of arrays and lists.
        label: The column of given labels.
        options: Of `review_data` and of `dris.read_data`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sheet, log = Path(folder, "sheet.csv"), Path(folder, "answers.jsonl")
    ...     done = review([[0.5], [1.0]], ["cat", "dog"], export_to=sheet, answers=log)
    ...     done.left, sheet.read_text().splitlines()[0]  # doctest: +ELLIPSIS
    the review begins in ...
    (2, 'id,given,suggested,answer,corrected,x[0]')
    """
    known = set(inspect.signature(review_data).parameters)
    own = {name: options.pop(name) for name in list(options) if name in known - {"trusted"}}
    serve = not (own.get("import_from") or own.get("export_to"))
    check_review(
        serve=serve,
        tool=own.get("tool", "csv"),
        port=own.get("port", 0),
        reviewer=own.get("reviewer"),
    )
    if isinstance(data, Decision):
        return review_data(data.data, decide=lambda _: data, **own)
    read = read_data(data, y, label=label, **options)
    return review_data(read, source=data, trusted=options.get("trusted"), **own)


def check_review(*, serve: bool, tool: str, port: int, reviewer: str | None) -> None:
    """Refuse what cannot work, a missing extra first, before anything is read or trained."""
    for module in ("starlette", "uvicorn") if serve else ():
        require(module, "review")
    check_port(port)
    if tool not in EXCHANGES:
        raise InputError(f"`tool` must be {', '.join(EXCHANGES)}, got {tool!r}")
    if reviewer is not None:
        check_reviewer(reviewer)


def review_data(
    data: LabelledData,
    *,
    source: Any = None,
    answers: PathLike | None = None,
    reviewer: str | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    out: PathLike = "dris-out",
    import_from: PathLike | None = None,
    export_to: PathLike | None = None,
    tool: str = "csv",
    port: int = 0,
    open_browser: bool = True,
    title: str | None = None,
    trusted: str | None = None,
    decide: Callable[[LabelledData], Decision] | None = None,
    decide_again: Callable[[Path, Corrections], list[str]] | None = None,
    writer: Writer | None = None,
    tell: Callable[[str], None] = print,
) -> ReviewResult:
    """Review data that was read: exchange answers with other tools, or serve the app.

    With `import_from` or `export_to` no browser opens: answers are taken from a file and the
    corrected data is written, or the cards go to a file for people to fill in.

    Args:
        data: What is reviewed.
        source: Where it was read from.
        answers: The file of answers, beside the data unless given.
        reviewer: Who answers, your login name unless given.
        sample: How many random labels to mix in, for a limit on what nobody looks at.
        seed: Of that draw.
        out: Folder for the corrected data.
        import_from: A file of answers, from the page, an audit or another tool.
        export_to: A file for the cards.
        tool: The format of both: "csv", "label-studio" or "argilla".
        port: On 127.0.0.1; any free one for 0.
        open_browser: Open the address in the browser.
        title: What to call the data on the page.
        trusted: The data's own column of trusted labels, to bring up to date.
        decide: Makes the decision where no review was begun; `dris.clean` without harm check.
        decide_again: What the page offers after it wrote the corrected data; returns lines to show.
        writer: Decides which files may be replaced.
        tell: Called with each line about the progress.
    """
    out = Path(out)
    serve = import_from is None and export_to is None
    who = check_reviewer(_login() if reviewer is None else reviewer)
    path = _place(source, data, out) if answers is None else Path(answers)
    writer = (writer or Writer()).reading(*data.origin.files, import_from)
    corrected = out / f"corrected{suffix_for(data)}"
    targets = [Path(export_to)] if export_to is not None else []
    writer.refuse(*targets, *([] if import_from is None else [corrected]))
    returned = [] if import_from is None else read_returned(Path(import_from), tool)
    if path.exists() and any(path.samefile(one) for one in data.origin.files if one.exists()):
        writer.refuse(path)
    features = None

    def begin() -> Worklist:
        nonlocal features
        decision = clean(data, check_harm=False) if decide is None else decide(data)
        features = None if decision.ensemble is None else decision.ensemble.table
        return worklist_of(decision, sample=sample, seed=seed)

    begun = holds_review(path)
    with open_journal(path, begin) as journal:
        session = ReviewSession(data, journal, features=features)
        state = session.summary(who)
        what = "goes on" if begun else "begins"
        tell(f"the review {what} in {path}: {state['left']:,} of {state['cards']:,} labels left")
        imported, corrections, files = 0, None, []
        if import_from is not None:
            imported = import_answers(session, returned, Path(import_from), who)
            corrections = session.write_corrected(corrected, trusted=trusted, writer=writer)
            files.append(corrected)
        for target in targets:
            make_folder(target.parent)
            files.append(writer.write(target, [export_cards(session, tool)]))
        if serve:
            replacing = replace(writer, force=True)

            def write() -> tuple[Path, Corrections]:
                done = session.write_corrected(corrected, trusted=trusted, writer=replacing)
                return corrected, done

            serve_review(
                session,
                title=title or path.name.removesuffix(".review.jsonl"),
                who=who,
                finish=Finish(write, decide_again),
                port=port,
                open_browser=open_browser,
                tell=lambda address: tell(f"open {address} (this machine only)"),
            )
        left = session.summary(who)["left"]
    return ReviewResult(path, left, imported, corrections, tuple(files))


def _place(source: Any, data: LabelledData, out: Path) -> Path:
    """The file of answers beside the data; in `out` where the data is not on this disk."""
    first = source[0] if isinstance(source, list | tuple) and source else source
    if isinstance(first, str | Path) and Path(first).expanduser().exists():
        return journal_beside(Path(first).expanduser())
    if not isinstance(first, str | Path) and data.origin.files and data.origin.files[0].exists():
        return journal_beside(data.origin.files[0])
    return journal_beside(out / (Path(first).name if isinstance(first, str | Path) else "data"))


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "reviewer"
