"""Text is UTF-8 wherever dris runs: the linter refuses a line that leaves that to the machine."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINES = {
    'open("a")': True,
    'open("a", encoding="utf-8")': False,
    'open("a", "rb")': False,
    'Path("a").read_text()': True,
    'Path("a").write_text("b")': True,
    'Path("a").read_text(encoding="utf-8")': False,
}


@pytest.mark.parametrize("folder", ["src/dris", "tests", "tools", "benchmarks", "experiments"])
def test_a_line_without_an_encoding_is_refused_in_every_folder(folder):
    pytest.importorskip("ruff")
    words = [sys.executable, "-m", "ruff", "check", "--output-format", "concise"]
    source = "from pathlib import Path\n\n" + "\n".join(LINES) + "\n"
    done = subprocess.run(
        [*words, "--stdin-filename", f"{folder}/made.py", "-"],
        input=source,
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    refused = {
        int(line.split(":")[1]) - 3 for line in done.stdout.splitlines() if "`encoding`" in line
    }
    assert refused == {at for at, refuse in enumerate(LINES.values()) if refuse}, done.stdout
