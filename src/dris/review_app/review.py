"""`dris.review`: exchange answers with other tools, or serve the app, in one function."""

import getpass
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dris.core.errors import InputError
from dris.core.files import make_folder, temporary_folder
from dris.data.files import expanded
from dris.data.formats import suffix_for
from dris.data.labelled import LabelledData
from dris.data.reader import read_data
from dris.data.writer import Writer
from dris.learn.extras import require
from dris.pipeline.decision import Decision
from dris.pipeline.route import clean
from dris.review_app.exchange import EXCHANGES, export_cards, import_answers
from dris.review_app.journal import Journal, holds_review, journal_beside
from dris.review_app.session import Corrections, ReviewSession, check_reviewer
from dris.review_app.worklist import SAMPLE, Worklist, worklist_of

PathLike = str | Path


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """What came of a review: open cards `left`, new answers `imported`, and the files written.

    `corrections` says what was changed in the corrected data, which is the first of the files.
    """

    answers: Path
    left: int
    imported: int = 0
    corrections: Corrections | None = None
    files: tuple[Path, ...] = ()

    def lines(self) -> list[str]:
        """The result in words."""
        lines = [f"wrote {path}" for path in self.files]
        if done := self.corrections:
            lines[0] += (
                f": {done.corrected:,} labels corrected, {done.trusted:,} trusted in all, "
                f"{done.dropped:,} dropped (wrong, and no other label known), "
                f"{done.unsure:,} unsure left as they are"
            )
            lines.insert(0, f"took in {self.imported:,} new answers")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        changed = {} if self.corrections is None else asdict(self.corrections)
        files = [str(path) for path in self.files]
        counts = {"left": self.left, "imported": self.imported}
        return {"answers": str(self.answers), **counts, **changed, "files": files}


def review(
    data: Any,
    y: Any = None,
    *,
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
    decide: Callable[[LabelledData], Decision] | None = None,
    decide_again: Callable[[Path, Corrections], list[str]] | None = None,
    writer: Writer | None = None,
    tell: Callable[[str], None] = print,
    **reading: Any,
) -> ReviewResult:
    """Let people correct suspects in the browser; every answer is on the disk at once.

    Interrupted, the same call goes on where it was and trains nothing again. With `import_from` or
    `export_to` no browser opens: answers are taken from a file and the corrected data is written,
    or the cards go to a file for people to fill in.

    Args:
        data: A decision, or what `dris.read_data` takes or returns.
        y: The labels of arrays and lists.
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
        decide: Makes the decision where no review was begun; `dris.clean` without harm check.
        decide_again: What the page offers after it wrote the corrected data; returns lines to show.
        writer: Decides which files may be replaced.
        tell: Called with each line about the progress.
        **reading: As for `dris.read_data`; `trusted` is the column to bring up to date.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sheet, log = Path(folder, "sheet.csv"), Path(folder, "answers.jsonl")
    ...     review([[0.5], [1.0]], ["cat", "dog"], export_to=sheet, answers=log).left
    the review begins in ...
    2
    """
    serve = import_from is None and export_to is None
    check_review(serve=serve, tool=tool, port=port, reviewer=reviewer)
    decision = data if isinstance(data, Decision) else None
    source = read_data(data, y, **reading) if decision is None else decision.data
    path = answers_beside(data, source, Path(out)) if answers is None else Path(answers)
    writer = (writer or Writer()).reading(*source.origin.files, import_from)
    corrected = Path(out) / f"corrected{suffix_for(source)}"
    exports = [] if export_to is None else [Path(export_to)]
    writer.refuse(*exports, *([] if import_from is None else [corrected]))
    returned = [] if import_from is None else [*EXCHANGES[tool].read(Path(import_from))]
    if path.exists() and any(path.samefile(one) for one in source.origin.files if one.exists()):
        writer.refuse(path)

    def begin() -> Worklist:
        nonlocal decision
        if decision is None:
            decision = decide(source) if decide else clean(source, check_harm=False)
        return worklist_of(decision, sample=sample, seed=seed)

    def correct(writer: Writer) -> Corrections:
        trusted = reading.get("trusted")
        return session.write_corrected(corrected, trusted=trusted, writer=writer)

    def finish(again: bool) -> dict[str, Any]:
        done = correct(replace(writer, force=True))
        lines = decide_again(corrected, done) if again and decide_again else None
        limit = session.limit().to_dict()
        return {"file": str(corrected), **asdict(done), "limit": limit, "again": lines}

    begun, who = holds_review(path), check_reviewer(reviewer or _login())
    with Journal(path, begin) as journal:
        ensemble = None if decision is None else decision.ensemble
        session = ReviewSession(source, journal, features=ensemble and ensemble.table)
        state = session.summary(who)
        what = "goes on" if begun else "begins"
        tell(f"the review {what} in {path}: {state['left']:,} of {state['cards']:,} labels left")
        imported, corrections = 0, None
        files: list[Path] = []
        if import_from is not None:
            imported = import_answers(session, returned, Path(import_from), who)
            corrections = correct(writer)
            files.append(corrected)
        for target in exports:
            make_folder(target.parent)
            files.append(writer.write(target, [export_cards(session, tool)]))
        if serve:
            at = source.origin.files
            serve_review(
                session,
                title=Path(os.path.commonpath(at)).name if at else "data",
                who=who,
                finish=finish,
                port=port,
                open_browser=open_browser,
                tell=lambda address: tell(f"open {address} (this machine only)"),
            )
        left = session.summary(who)["left"]
    return ReviewResult(path, left, imported, corrections, tuple(files))


def check_review(*, serve: bool, tool: str, port: int, reviewer: str | None) -> None:
    """Refuse what cannot work before anything is read or trained, a missing extra first."""
    for module in ("starlette", "uvicorn") if serve else ():
        require(module, "review")
    if not 0 <= port <= 65535:
        raise InputError(f"`port` must be 0 (any free one) to 65535, got {port}")
    if tool not in EXCHANGES:
        raise InputError(f"`tool` must be {', '.join(EXCHANGES)}, got {tool!r}")
    if reviewer is not None:
        check_reviewer(reviewer)


def answers_beside(given: Any, data: LabelledData, out: Path) -> Path:
    """The file of answers beside the data as it was given; in `out` for data elsewhere."""
    first = given[0] if isinstance(given, list | tuple) and given else given
    paths = [Path(first)] if isinstance(first, str | Path) else list(data.origin.files[:1])
    if paths and expanded(paths[0]).exists():
        return journal_beside(expanded(paths[0]))
    return journal_beside(out / (paths[0].name if paths else "data"))


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "reviewer"


# -- the server: a socket that only this machine can reach, and a browser --------------------------

HOST = "127.0.0.1"
MAX_CONNECTIONS = 64
BACKLOG = 32  # accepted at once: with the connections, well below the usual 256 open files
HEADER_SECONDS = 10.0  # for the first request of a connection


def serve_review(
    session: ReviewSession,
    *,
    title: str,
    who: str,
    finish: Callable[[bool], dict[str, Any]],
    port: int,
    open_browser: bool,
    tell: Callable[[str], None],
) -> None:
    """Serve until the process is ended; `tell` is called with the address once it is open."""
    uvicorn = require("uvicorn", "review")
    from dris.review_app.app import review_app

    token = secrets.token_urlsafe(18)
    with listen_on(port) as listening:
        address = f"http://{HOST}:{listening.getsockname()[1]}/{token}/"
        settings = uvicorn.Config(
            review_app(session, title=title, who=who, token=token, finish=finish),
            http=_capped_protocol(),
            backlog=BACKLOG,
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        with redirect_to(address) as page:
            tell(address)
            if open_browser:
                threading.Timer(0.3, webbrowser.open, (page,)).start()
            uvicorn.Server(settings).run(sockets=[listening])


@contextmanager
def redirect_to(address: str) -> Iterator[str]:
    """A page for this user alone that leads to the address, which process lists must not show."""
    with temporary_folder() as folder:
        path = folder / "open.html"
        text = f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">\n'
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
        yield path.as_uri()


def _capped_protocol() -> Any:
    """The protocol of uvicorn with a limit on connections and on the time until a request comes."""
    base: Any = require("uvicorn.protocols.http.h11_impl", "review").H11Protocol

    def connection_made(self: Any, transport: Any) -> None:
        base.connection_made(self, transport)
        self.began = self.loop.time()
        self.loop.call_later(HEADER_SECONDS, give_up, self)
        here = [one for one in self.connections if not one.transport.is_closing()]
        if len(here) > MAX_CONNECTIONS:
            idle = [one for one in here if not one.cycle or one.cycle.response_complete]
            min(idle, key=lambda one: one.began).transport.abort()

    def give_up(self: Any) -> None:
        if self.cycle is None:  # no request has come
            self.transport.abort()

    return type("CappedProtocol", (base,), {"connection_made": connection_made})


def listen_on(port: int) -> socket.socket:
    """A socket that only this machine can reach; any free port for 0."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"port {port} is not available ({error.strerror}); leave `port` out for any free one"
        ) from None
    listening.listen(BACKLOG)
    return listening
