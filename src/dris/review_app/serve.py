"""The app on a port of this machine, behind a token, in the person's browser."""

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

from dris.core.errors import InputError
from dris.learn.extras import require
from dris.review_app.session import Finish, ReviewSession

HOST = "127.0.0.1"


def serve_review(
    session: ReviewSession,
    *,
    title: str,
    who: str,
    finish: Finish,
    port: int = 0,
    open_browser: bool = True,
    tell: Callable[[str], None],
) -> None:
    """Serve until the process is ended; `tell` is called with the address once it is open."""
    uvicorn = require("uvicorn", "review")
    from dris.review_app.app import review_app

    token = secrets.token_urlsafe(18)
    with listen_on(port) as listening:
        address = f"http://{HOST}:{listening.getsockname()[1]}/{token}/"
        app = review_app(session, title=title, who=who, token=token, finish=finish)
        settings = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        tell(address)
        if open_browser:
            threading.Timer(0.3, webbrowser.open, (address,)).start()
        uvicorn.Server(settings).run(sockets=[listening])


def check_port(port: int) -> None:
    """Refuse a number that is no port."""
    if not 0 <= port <= 65535:
        raise InputError(f"`port` must be 0 (any free one) to 65535, got {port}")


def listen_on(port: int) -> socket.socket:
    """A socket that only this machine can reach; any free port for 0.

    >>> with listen_on(0) as one:
    ...     one.getsockname()[0]
    '127.0.0.1'
    """
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
    listening.listen()
    return listening
