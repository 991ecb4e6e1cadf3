"""The review over HTTP: one page, its requests, and an event whenever somebody answers.

Every address begins with a random token. Requests for another host, from another page, or without
the token are refused; nothing of the data is ever sent as something that a browser would run.
"""

import asyncio
import re
import secrets
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dris.core.errors import InputError, describe_error
from dris.core.sanitize import from_json, printable
from dris.data.files import one_line
from dris.report_page.page import one_script, part
from dris.review_app.exchange import EXCHANGES, export_cards
from dris.review_app.session import ReviewSession

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
LOCAL = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?")
MAX_POSTED_BYTES = 1_000_000
MAX_CARDS_AT_ONCE = 200
POLL_SECONDS = 0.4  # between looks for a change
SCRIPTS = ("elements.js", "keys.js", "looking.js", "heat.js")  # the page's own
APP_SCRIPTS = ("queue.js", "card.js", "start.js")
Values = dict[str, Any]


def review_app(
    session: ReviewSession, *, title: str, who: str, token: str, finish: Callable[[bool], Values]
) -> Starlette:
    """The app for one session; `who` is the reviewer unless the page gives another name.

    `finish` writes the corrected data, and decides again if it is given True.
    """
    script = one_script([*map(part, SCRIPTS), *map(_app_file, APP_SCRIPTS)])
    style = part("components.css") + _app_file("review.css")
    page = _app_file("review.html")

    def picture(request: Request) -> Response:
        at, side = int(request.path_params["at"]), int(request.path_params["side"])
        data = session.contents.picture(at, side)
        kind = "image/png" if data.startswith(b"\x89PNG") else "image/webp"
        return Response(data, media_type=kind, headers={"cache-control": "private, max-age=3600"})

    def export(request: Request) -> Response:
        tool = request.path_params["tool"]
        if tool not in EXCHANGES:
            raise InputError(f"export is one of {', '.join(EXCHANGES)}")
        file = f"review-{tool}{EXCHANGES[tool].suffix}"
        held = {"content-disposition": f'attachment; filename="{file}"'}
        content = export_cards(session, tool)
        return Response(content, media_type="application/octet-stream", headers=held)

    def answer(name: str, sent: Values) -> Values:
        at, label = _wholes(sent, "at"), _wholes(sent, "label")
        session.answer(name, at, str(sent.get("answer", "")), label)
        return session.summary(name)

    def accept(name: str, sent: Values) -> Values:
        count = session.accept(name, *_wholes(sent, "cell", 2))
        return {"accepted": count, **session.progress(name)}

    def events(request: Request) -> Response:
        return StreamingResponse(_changes(session, request), media_type="text/event-stream")

    def who_asks(request: Request) -> str:
        return request.query_params.get("who") or who

    def get(path: str, reply: Callable[[Request], Any]) -> Route:
        async def endpoint(request: Request) -> Response:
            return _response(await run_in_threadpool(reply, request))

        return Route(path, endpoint, methods=["GET"])

    def post(path: str, reply: Callable[[str, Values], Any], run: Any = run_in_threadpool) -> Route:
        async def endpoint(request: Request) -> Response:
            sent = await _sent(request)
            return _response(await run(reply, who_asks(request), sent))

        return Route(path, endpoint, methods=["POST"])

    def opening(request: Request) -> Values:
        name = who_asks(request)
        return {"title": title, "who": name, **session.opening(name)}

    routes = [
        get("/", lambda _: Response(page, media_type="text/html")),
        get("/review.js", lambda _: Response(script, media_type="text/javascript")),
        get("/review.css", lambda _: Response(style, media_type="text/css")),
        get("/opening", opening),
        get("/progress", lambda r: session.progress(who_asks(r))),
        get("/cards", lambda r: session.cards(_numbers(r, "at"))),
        get("/similar", lambda r: session.similar(*_numbers(r, "at", 1))),
        get("/search", lambda r: session.contents.search(r.query_params.get("words", "")[:500])),
        get("/check", lambda r: session.check(*_numbers(r, "cell", 2))),
        get("/picture/{at:int}/{side:int}", picture),
        get("/export/{tool}", export),
        get("/events", events),
        post("/answer", answer),
        post("/undo", lambda name, _: {"reopened": session.undo(name), **session.progress(name)}),
        post("/accept", accept),
        post("/finish", lambda _, sent: finish(bool(sent.get("again"))), run_until_the_end),
    ]
    app = Starlette(routes=routes, exception_handlers={InputError: _refuse, OSError: _refuse})
    app.add_middleware(Doorkeeper, token=token)
    return app


async def run_until_the_end(work: Callable[..., Any], *given: Any) -> Any:
    """What `work` returns; whoever interrupts the process need not wait for it."""
    done: Future[Any] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(work(*given))
        except Exception as error:  # raised again where it is waited for
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return await asyncio.wrap_future(done)
    except asyncio.CancelledError:
        return Response(status_code=503)


def _response(reply: Any) -> Response:
    return reply if isinstance(reply, Response) else JSONResponse(reply)


class Doorkeeper:
    """Answers requests to this machine, from its own page, with the token; refuses all others."""

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            return
        why = self._refusal(scope)
        if why:
            answer = Response(why + "\n", 403, HEADERS, media_type="text/plain")
            await answer(scope, receive, send)
            return
        inner = dict(scope)
        inner["path"] = scope["path"][len(self._token) + 1 :]
        inner["raw_path"] = inner["path"].encode()

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for key, value in HEADERS.items():
                    headers.setdefault(key, value)
            await send(message)

        await self._app(inner, receive, guarded)

    def _refusal(self, scope: Scope) -> str:
        """Why a request is refused; "" when it is not."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin", "")
        if not LOCAL.fullmatch(host):  # at any port: it may be forwarded
            return "this app answers on 127.0.0.1 only"
        foreign = origin not in ("", f"http://{host}")
        opened = headers.get("sec-fetch-mode") == "navigate"  # by a link, as the page of a file
        site = headers.get("sec-fetch-site", "none")
        foreign = foreign or (site not in ("none", "same-origin") and not opened)
        if foreign or (scope["method"] != "GET" and not origin):
            return "the request comes from another page"
        head = scope["path"][1 : len(self._token) + 1]
        right = secrets.compare_digest(head.encode(), self._token.encode())
        if not right or scope["path"][len(self._token) + 1 :][:1] != "/":
            return "the address has another token; open the one that dris review printed last"
        return ""


def _app_file(name: str) -> str:
    return files("dris.review_app").joinpath("app_files", name).read_text(encoding="utf-8")


async def _sent(request: Request) -> Values:
    """The JSON object that was posted."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InputError("send JSON")
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_POSTED_BYTES:
            raise InputError("too much was sent")
    try:
        sent = from_json(data or b"{}")
    except ValueError:
        raise InputError("what was sent is not JSON") from None
    if not isinstance(sent, dict):
        raise InputError("send a JSON object")
    return sent


def _wholes(sent: Values, name: str, count: int | None = None) -> list[int]:
    """A list of whole numbers, as many as asked for."""
    values = sent.get(name)
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise InputError(f"{name} must be a list of whole numbers")
    if count is not None and len(values) != count:
        raise InputError(f"{name} must be {count} whole numbers")
    return values


def _numbers(request: Request, name: str, count: int | None = None) -> list[int]:
    """The same in the address, with commas."""
    text = request.query_params.get(name, "")
    try:
        numbers = [int(word) for word in text.split(",") if word]
    except ValueError:
        raise InputError(f"{name} must be whole numbers, got {one_line(text)!r}") from None
    return _wholes({name: numbers[:MAX_CARDS_AT_ONCE]}, name, count)


async def _refuse(request: Request, error: Exception) -> Response:
    why = describe_error(error) if isinstance(error, OSError) else str(error)
    return JSONResponse({"error": printable(why)}, 400)


async def _changes(session: ReviewSession, request: Request) -> AsyncIterator[str]:
    """The number of entries so far whenever it grows, for as long as the page is open."""
    known = -1
    while not await request.is_disconnected():
        if session.version != known:
            known = session.version
            yield f"data: {known}\n\n"
        await asyncio.sleep(POLL_SECONDS)
