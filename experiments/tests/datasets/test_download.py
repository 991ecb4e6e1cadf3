import gzip
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dris import InputError
from experiments.datasets.catalogue import load_set
from experiments.tests.datasets.made_archives import IDX_PARTS, cifar_archive, tiny_cifar, tiny_idx

ARCHIVE = cifar_archive()


class Server:
    """A server on this machine: what it serves, and how it misbehaves."""

    def __init__(self):
        self.files, self.asked, self.cut, self.announce = {}, [], None, True
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                blob = server.files.get(self.path.lstrip("/"))
                if blob is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                if server.announce:
                    self.send_header("Content-Length", str(len(blob)))
                self.end_headers()
                self.wfile.write(blob[: server.cut])

            def log_message(self, *args):
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}/"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server():
    with Server() as running:
        yield running


def left_behind(folder):
    return [p for p in folder.rglob("*") if p.is_file()]


def test_an_absent_archive_is_downloaded_once_then_found(server, tmp_path):
    server.files["tiny.tar.gz"] = ARCHIVE
    steps = []
    known = tiny_cifar(ARCHIVE, server.address)
    data = load_set(known, data_dir=tmp_path / "new", progress=lambda *step: steps.append(step))
    assert data.train_y.tolist() == [0, 1, 1, 1, 0]
    assert steps[-1] == ("tiny.tar.gz", len(ARCHIVE), len(ARCHIVE))
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["tiny.tar.gz"]
    load_set(known, data_dir=tmp_path / "new")
    assert server.asked == ["/tiny.tar.gz"]


def test_only_the_missing_idx_files_are_downloaded(server, tmp_path):
    server.files = {f"{name}.gz": gzip.compress(blob) for name, blob in IDX_PARTS.items()}
    (tmp_path / "small").mkdir()
    name = "train-labels-idx1-ubyte"
    (tmp_path / "small" / name).write_bytes(IDX_PARTS[name])
    data = load_set(tiny_idx(server.address), data_dir=tmp_path)
    assert data.train_y.tolist() == [2, 0, 1]
    assert len(server.asked) == 3
    assert f"/{name}.gz" not in server.asked


def test_a_download_lands_in_dris_data_and_else_in_the_cache(server, monkeypatch, tmp_path):
    server.files["tiny.tar.gz"] = ARCHIVE
    known = tiny_cifar(ARCHIVE, server.address)
    load_set(known)
    assert (tmp_path / "cache" / "dris" / "tiny.tar.gz").is_file()
    (tmp_path / "cache" / "dris" / "tiny.tar.gz").unlink()
    monkeypatch.setenv("DRIS_DATA", str(tmp_path / "env"))
    load_set(known)
    assert (tmp_path / "env" / "tiny.tar.gz").is_file()


def test_without_permission_to_download_nothing_is_asked(server, tmp_path):
    server.files["tiny.tar.gz"] = ARCHIVE
    with pytest.raises(InputError, match=r"tiny\.tar\.gz is not in "):
        load_set(tiny_cifar(ARCHIVE, server.address), data_dir=tmp_path, download=False)
    assert server.asked == []


def refused(known, folder):
    """The one sentence, after checking that it says what, where from and where to."""
    with pytest.raises(InputError) as caught:
        load_set(known, data_dir=folder)
    sentence = str(caught.value)
    assert "\n" not in sentence
    for word in ("tiny.tar.gz", known.published[0].address, str(folder), "DRIS_DATA", "--data-dir"):
        assert word in sentence
    assert left_behind(folder) == []
    return sentence


def test_a_404_is_one_sentence(server, tmp_path):
    assert "HTTP Error 404" in refused(tiny_cifar(ARCHIVE, server.address), tmp_path)


def test_a_refused_connection_is_one_sentence(tmp_path):
    with Server() as gone:
        address = gone.address
    assert "refused" in refused(tiny_cifar(ARCHIVE, address), tmp_path)


def test_a_download_cut_half_way_leaves_nothing(server, tmp_path):
    server.files["tiny.tar.gz"] = ARCHIVE
    server.cut = len(ARCHIVE) // 2
    sentence = refused(tiny_cifar(ARCHIVE, server.address), tmp_path)
    assert f"broke after {len(ARCHIVE) // 2} of {len(ARCHIVE)} bytes" in sentence


def test_a_cut_download_of_unannounced_length_fails_by_its_checksum(server, tmp_path):
    server.files["tiny.tar.gz"] = ARCHIVE
    server.cut, server.announce = len(ARCHIVE) // 2, False
    assert "checksum" in refused(tiny_cifar(ARCHIVE, server.address), tmp_path)


def test_a_whole_download_of_unannounced_length_is_fine(server, tmp_path):
    server.files["tiny.tar.gz"] = ARCHIVE
    server.announce = False
    steps = []
    known = tiny_cifar(ARCHIVE, server.address)
    load_set(known, data_dir=tmp_path, progress=lambda *step: steps.append(step))
    assert steps[-1] == ("tiny.tar.gz", len(ARCHIVE), None)


def test_another_file_at_the_address_is_never_kept(server, tmp_path):
    server.files["tiny.tar.gz"] = b"<html>moved</html>"
    assert "checksum" in refused(tiny_cifar(ARCHIVE, server.address), tmp_path)


def test_another_idx_file_at_the_address_is_never_kept(server, tmp_path):
    server.files = {f"{name}.gz": gzip.compress(b"other") for name in IDX_PARTS}
    with pytest.raises(InputError, match="published checksum"):
        load_set(tiny_idx(server.address), data_dir=tmp_path)
    assert left_behind(tmp_path) == []


def test_stopping_a_download_leaves_nothing(server, tmp_path):
    server.files["tiny.tar.gz"] = ARCHIVE

    def stop(*step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_set(tiny_cifar(ARCHIVE, server.address), data_dir=tmp_path, progress=stop)
    assert left_behind(tmp_path) == []


def test_a_data_folder_that_is_a_file_is_one_sentence(server, tmp_path):
    server.files["tiny.tar.gz"] = ARCHIVE
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(InputError, match="could not be downloaded"):
        load_set(tiny_cifar(ARCHIVE, server.address), data_dir=tmp_path / "file")
