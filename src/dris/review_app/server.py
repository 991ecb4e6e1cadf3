"""The server: a socket that only this machine can reach, and a browser that is told where it is."""

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dris.core.errors import InputError
from dris.core.files import temporary_folder
from dris.learn.extras import require
from dris.review_app.session import Finish, ReviewSession

HOST = "127.0.0.1"
MAX_CONNECTIONS = 64
BACKLOG = 32  # accepted at once: with the connections, well below the usual 256 open files
HEADER_SECONDS = 10.0  # for the first request of a connection


def serve_review(
    session: ReviewSession,
    *,
    title: str,
    who: str,
    finish: Finish,
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
        if len(self.connections) > MAX_CONNECTIONS:
            idle = [one for one in self.connections if not one.cycle or one.cycle.response_complete]
            min(idle, key=lambda one: one.began).transport.abort()

    def give_up(self: Any) -> None:
        if self.cycle is None:  # no request has come
            self.transport.abort()

    return type("CappedProtocol", (base,), {"connection_made": connection_made})


def check_port(port: int) -> None:
    """Refuse a number that is no port."""
    if not 0 <= port <= 65535:
        raise InputError(f"`port` must be 0 (any free one) to 65535, got {port}")


def listen_on(port: int) -> socket.socket:
    """A socket that only this machine can reach; any free port for 0."""
    check_port(port)
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
