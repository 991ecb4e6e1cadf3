"""The desk over HTTP: one page, its answers, and an event whenever somebody ticks.

Every address begins with a random token. Requests for another host, from another page, or without
the token are refused; nothing of the data is ever sent as something that a browser would run.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from functools import partial
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dris.core.errors import InputError, sentence_of
from dris.core.sanitize import from_json, printable
from dris.report_page.inlined import one_script, part
from dris.review_app.exchange import EXCHANGES, exported
from dris.review_app.session import Desk, Finishing, positions_of

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
MOST_BYTES = 1_000_000
PULSE = 0.4  # seconds between looks for a change
SCRIPTS = ("elements.js", "looking.js", "heat.js")  # the report's, which is drawn with the same
OWN_SCRIPTS = ("queue.js", "desk.js", "start.js")


def review_app(desk: Desk, *, title: str, who: str, token: str, finishing: Finishing) -> Starlette:
    """The app for one desk; `who` is the reviewer unless the page says another name."""
    page = _own("review.html").encode()
    script = one_script([*map(part, SCRIPTS), *map(_own, OWN_SCRIPTS)]).encode()
    style = (part("components.css") + _own("review.css")).encode()

    def name(request: Request) -> str:
        return request.query_params.get("who") or who

    async def index(request: Request) -> Response:
        return Response(page, media_type="text/html")

    async def code(request: Request) -> Response:
        return Response(script, media_type="text/javascript")

    async def looks(request: Request) -> Response:
        return Response(style, media_type="text/css")

    async def opening(request: Request) -> Response:
        found = await run_in_threadpool(desk.opening, name(request))
        return JSONResponse({"title": title, "who": name(request), **found})

    async def said(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(desk.said, name(request)))

    async def cards(request: Request) -> Response:
        at = positions_of(request.query_params.get("at", ""))[:200]
        return JSONResponse(await run_in_threadpool(desk.cards, at))

    async def similar(request: Request) -> Response:
        (at,) = _numbers(request, "at", 1)
        return JSONResponse(await run_in_threadpool(desk.similar, at))

    async def search(request: Request) -> Response:
        words = request.query_params.get("words", "")[:500]
        return JSONResponse(await run_in_threadpool(desk.faces.found, words))

    async def check(request: Request) -> Response:
        given, other = _numbers(request, "cell", 2)
        return JSONResponse(await run_in_threadpool(desk.check, given, other))

    async def picture(request: Request) -> Response:
        at, side = int(request.path_params["at"]), int(request.path_params["side"])
        data = await run_in_threadpool(desk.faces.picture, at, side)
        kind = "image/png" if data.startswith(b"\x89PNG") else "image/webp"
        return Response(data, media_type=kind, headers={"cache-control": "private, max-age=3600"})

    async def tick(request: Request) -> Response:
        sent = await _sent(request)
        at, label = _whole(sent, "at"), _whole(sent, "label", -1)
        tell = partial(desk.tick, name(request), at, str(sent.get("verdict", "")), label)
        await run_in_threadpool(tell)
        return JSONResponse(await run_in_threadpool(desk.summary, name(request)))

    async def undo(request: Request) -> Response:
        gone = await run_in_threadpool(desk.undo, name(request))
        return JSONResponse({"gone": gone, **await run_in_threadpool(desk.said, name(request))})

    async def accept(request: Request) -> Response:
        sent = await _sent(request)
        given, other = _whole(sent, "given"), _whole(sent, "suggested")
        count = await run_in_threadpool(desk.accept, name(request), given, other)
        more = await run_in_threadpool(desk.said, name(request))
        return JSONResponse({"accepted": count, **more})

    async def finish(request: Request) -> Response:
        sent = await _sent(request)
        path, done = await run_in_threadpool(finishing.write)
        answer: dict[str, Any] = {"file": str(path), **done.to_dict(), "again": None}
        if sent.get("again") and finishing.again is not None:
            answer["again"] = await run_in_threadpool(finishing.again, path, done)
        return JSONResponse(answer)

    async def export(request: Request) -> Response:
        kind = request.path_params["kind"]
        if kind not in EXCHANGES:
            raise InputError(f"export is one of {', '.join(EXCHANGES)}")
        data = await run_in_threadpool(exported, desk, kind)
        file = f"review-{kind}{EXCHANGES[kind].suffix}"
        held = {"content-disposition": f'attachment; filename="{file}"'}
        return Response(data, media_type="application/octet-stream", headers=held)

    async def events(request: Request) -> Response:
        return StreamingResponse(_changes(desk, request), media_type="text/event-stream")

    get, post = ["GET"], ["POST"]
    routes = [
        Route("/", index, methods=get),
        Route("/review.js", code, methods=get),
        Route("/review.css", looks, methods=get),
        Route("/opening", opening, methods=get),
        Route("/said", said, methods=get),
        Route("/cards", cards, methods=get),
        Route("/similar", similar, methods=get),
        Route("/search", search, methods=get),
        Route("/check", check, methods=get),
        Route("/picture/{at:int}/{side:int}", picture, methods=get),
        Route("/export/{kind}", export, methods=get),
        Route("/events", events, methods=get),
        Route("/tick", tick, methods=post),
        Route("/undo", undo, methods=post),
        Route("/accept", accept, methods=post),
        Route("/finish", finish, methods=post),
    ]
    app = Starlette(routes=routes, exception_handlers={InputError: _refused, OSError: _refused})
    app.add_middleware(Doorkeeper, token=token)
    return app


class Doorkeeper:
    """Lets in who asks this machine, from this page, with the token; all others get nothing."""

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
                there = {key.lower() for key, _ in message["headers"]}
                more = [
                    (key.encode(), value.encode())
                    for key, value in HEADERS.items()
                    if key.encode() not in there
                ]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self._app(inner, receive, guarded)

    def _refusal(self, scope: Scope) -> str:
        """Why a request is not answered; "" when it is."""
        said = {key.decode("latin-1").lower(): value for key, value in scope["headers"]}
        host = said.get("host", b"").decode("latin-1")
        port = scope["server"][1] if scope.get("server") else None
        if host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return "this app answers on 127.0.0.1 only"
        origin = said.get("origin", b"").decode("latin-1")
        foreign = origin not in ("", f"http://{host}")
        if foreign or (scope["method"] != "GET" and not origin):
            return "the request comes from another page"
        if said.get("sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            return "the request comes from another page"
        head = scope["path"][1 : len(self._token) + 1]
        right = secrets.compare_digest(head.encode(), self._token.encode())
        if not right or scope["path"][len(self._token) + 1 :][:1] != "/":
            return "the address has another token; open the one that dris review printed last"
        return ""


def _own(name: str) -> str:
    return files("dris.review").joinpath("app_files", name).read_text(encoding="utf-8")


async def _sent(request: Request) -> dict[str, Any]:
    """The JSON object that was posted."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InputError("send JSON")
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MOST_BYTES:
            raise InputError("too much was sent")
    try:
        sent = from_json(data or b"{}")
    except ValueError:
        raise InputError("what was sent is not JSON") from None
    if not isinstance(sent, dict):
        raise InputError("send a JSON object")
    return sent


def _whole(sent: dict[str, Any], name: str, missing: int | None = None) -> int:
    value = sent.get(name, missing)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} must be a whole number")
    return value


def _numbers(request: Request, name: str, count: int) -> list[int]:
    found = positions_of(request.query_params.get(name, ""))
    if len(found) != count:
        raise InputError(f"{name} must be {count} whole numbers")
    return found


async def _refused(request: Request, error: Exception) -> Response:
    why = sentence_of(error) if isinstance(error, OSError) else str(error)
    return JSONResponse({"error": printable(why)}, 400)


async def _changes(desk: Desk, request: Request) -> AsyncIterator[str]:
    """The number of acts so far whenever it grows, for as long as the page is open."""
    known = -1
    while not await request.is_disconnected():
        if desk.version != known:
            known = desk.version
            yield f"data: {known}\n\n"
        await asyncio.sleep(PULSE)
