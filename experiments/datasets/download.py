"""Fetch a published file: under a temporary name, checked, then renamed; or one clear sentence."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from dris import InputError
from experiments.datasets.archives import LocalFile, Published, check_packed, read_parts
from experiments.dris_internals import place_new, temporary_folder

# Called with the file's name, the bytes so far and the bytes in all (None: not announced).
Progress = Callable[[str, int, int | None], None]

_CHUNK = 1 << 20
_SILENCE = 30.0  # seconds without a byte before the connection is given up


def fetch(
    published: Published, folders: tuple[Path, ...], progress: Progress | None = None
) -> LocalFile:
    """Download a file into the first of the folders; nothing stays behind when that fails."""
    target = folders[0] / published.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(target.parent, ".downloading-") as scratch:
            fresh = scratch / target.name
            _stream(published, fresh, progress)
            _check_fresh(LocalFile(published, fresh, packed=True))
            place_new(fresh, target)
    except (OSError, http.client.HTTPException, _BadDownloadError) as error:
        raise absent(published, folders, f" and could not be downloaded ({error})") from None
    return LocalFile(published, target, packed=True)


def absent(published: Published, folders: tuple[Path, ...], also: str = "") -> InputError:
    """The sentence for a file that is nowhere: what, where from, where to put it."""
    name = Path(published.file).name
    target = (folders[0] / published.file).parent
    gaps = "".join(_gap(published, folder / published.folder) for folder in folders)
    how = f"download {published.address} by hand into {target}"
    if not published.address:
        how = f"copy it into {target} ({published.by_hand})"
    return InputError(
        f"{name} is not in {', '.join(map(str, folders))}{gaps}{also}; {how}, "
        "or point DRIS_DATA or --data-dir at a folder that holds it"
    )


def _gap(published: Published, unpacked: Path) -> str:
    """What an unpacked folder lacks, when it is there in part."""
    lacking = [part for part in published.parts if not (unpacked / part).exists()]
    if len(lacking) == len(published.parts):
        return ""
    return f" ({unpacked} lacks {', '.join(lacking)})"


class _BadDownloadError(Exception):
    """What came is not what is published."""


def _stream(published: Published, path: Path, progress: Progress | None) -> None:
    with _opened(published.address) as response, path.open("wb") as out:
        announced = response.headers.get("Content-Length")
        total = int(announced) if announced and announced.isdigit() else None
        done = 0
        while chunk := response.read(_CHUNK):
            out.write(chunk)
            done += len(chunk)
            if progress is not None:
                progress(path.name, done, total)
    # A connection that breaks looks like the end of the file to read(n).
    if total is not None and done != total:
        raise _BadDownloadError(f"the connection broke after {done} of {total} bytes")


def _opened(address: str) -> http.client.HTTPResponse:
    try:
        response: http.client.HTTPResponse = urllib.request.urlopen(address, timeout=_SILENCE)
    except urllib.error.HTTPError as refusal:
        with refusal:  # it holds the connection until it is closed
            raise _BadDownloadError(str(refusal)) from None
    return response


def _check_fresh(fresh: LocalFile) -> None:
    """The packed MD5 where one is published, the checksums of the parts where they are known."""
    try:
        if fresh.published.md5 is not None and not fresh.published.sha256:
            check_packed(fresh)
        else:
            read_parts(fresh)
    except InputError:
        raise _BadDownloadError("what came does not have the published checksum") from None
