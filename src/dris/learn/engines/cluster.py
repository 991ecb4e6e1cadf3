"""Reach a Ray cluster, or say in a sentence, and soon, why not."""

import os
import socket
from types import ModuleType

from dris.core.errors import InputError
from dris.learn.engines.engine import Engine
from dris.learn.extras import require

PATIENCE = 5.0  # seconds for a first answer; Ray itself would try for minutes
_CLIENT = "ray://"
# Whoever speaks HTTP/2, as Ray does, answers this greeting with a frame of settings, kind 4.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_SETTINGS = 4


def connected(engine: Engine) -> ModuleType:
    """Ray, connected to the engine's cluster; it stays so until the process ends.

    A connection that is there is used: whoever called `ray.init` decides how.
    """
    ray = require("ray", "ray")
    address = engine.address or os.environ.get("RAY_ADDRESS")
    if ray.is_initialized():
        _refuse_another(ray, engine.address)
        return ray
    if address not in (None, "auto", "local"):
        _refuse_unreachable(address)
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            include_dashboard=False if address in (None, "local") else None,
        )
    except (ConnectionError, OSError, RuntimeError, ValueError, AssertionError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"Ray cannot be used at {address or 'this machine'}: {said}") from error
    return ray


def _refuse_another(ray: ModuleType, address: str | None) -> None:
    """An address that is not the one of the connection is a mistake that would not be noticed."""
    if address in (None, "auto", "local") or str(address).startswith(_CLIENT):
        return
    there = str(ray.get_runtime_context().gcs_address)
    if _place(str(address)) != _place(there):
        raise InputError(
            f"this process is connected to Ray at {there} and not at {address}; "
            "call ray.shutdown() first"
        )


def _refuse_unreachable(address: str) -> None:
    host, _, port = address.removeprefix(_CLIENT).rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise InputError(
            f"address must be host:port, {_CLIENT}host:port or auto, got {address!r}; "
            "the head node says it when it starts: ray start --head"
        )
    try:
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as talk:
            secret = os.environ.get("RAY_USE_TLS") == "1"  # then nothing is said in the open
            if not secret and not _speaks_http2(talk):
                raise OSError("something else answers there")
    except OSError as error:
        raise InputError(
            f"no Ray cluster can be reached at {address} ({error.strerror or error}); start one "
            "with: ray start --head --port=6379"
        ) from error


def _speaks_http2(talk: socket.socket) -> bool:
    talk.sendall(_GREETING)
    answer = talk.recv(9)
    return len(answer) > 3 and answer[3] == _SETTINGS


def _place(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    try:
        return socket.gethostbyname(host), port
    except OSError:
        return host, port
