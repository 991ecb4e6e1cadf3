"""Where the app is to be found: a port of this machine, a token, the person's browser."""

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

from dris.core.errors import InputError
from dris.learn.extras import require
from dris.review_app.session import Desk, Finishing

HOST = "127.0.0.1"


def serve_review(
    desk: Desk,
    *,
    title: str,
    who: str,
    finishing: Finishing,
    port: int = 0,
    open_browser: bool = True,
    tell: Callable[[str], None],
) -> None:
    """Answer until the process is ended; `tell` hears the address once it can be opened."""
    require("starlette", "review")
    uvicorn = require("uvicorn", "review")
    from dris.review_app.app import review_app

    token = secrets.token_urlsafe(18)
    with bound(port) as listening:
        address = f"http://{HOST}:{listening.getsockname()[1]}/{token}/"
        app = review_app(desk, title=title, who=who, token=token, finishing=finishing)
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


def bound(port: int) -> socket.socket:
    """A socket that listens on this machine alone; any free port for 0.

    >>> with bound(0) as one:
    ...     one.getsockname()[0]
    '127.0.0.1'
    """
    if not 0 <= port <= 65535:
        raise InputError(f"`port` must be 0 (any free one) to 65535, got {port}")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"port {port} cannot be had ({error.strerror}); leave `port` out for any free one"
        ) from None
    listening.listen()
    return listening
