"""`dris review` on 100,000 rows: from the command to the address, memory, and the first card.

    python benchmarks/review.py [ROWS]     (about two minutes; needs the extras review and browser)

The aim: the first card stands within 2 s of opening the page. Seconds on the clock of a machine
that others may use; the command's own processor seconds stand beside them.
"""

import csv
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

AIM = 2.0
NAMES = ("billing", "delivery", "refund", "account", "praise")


def write_rows(path: Path, n: int) -> None:
    """Numbers, a category and a sentence a row; an eighth of the labels are wrong."""
    rng = np.random.default_rng(0)
    truth = rng.integers(5, size=n)
    given = np.where(rng.random(n) < 0.125, (truth + 1) % 5, truth)
    x = rng.normal(size=(n, 8)) + 3 * np.eye(5, 8)[truth]
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["ticket", *(f"x{j}" for j in range(8)), "channel", "topic"])
        for i in range(n):
            row = [f"{value:.4f}" for value in x[i]]
            out.writerow([f"T{i:07}", *row, ("mail", "chat", "phone")[i % 3], NAMES[given[i]]])


def started(folder: Path) -> tuple[subprocess.Popen[str], str, float]:
    """The app, its address and the seconds until it could be opened."""
    begin = time.monotonic()
    command = [sys.executable, "-c", "from dris.cli import main; main()", "review", "rows.csv"]
    options = ["--label", "topic", "--id", "ticket", "--no-open", "--out", "out", "--workers", "1"]
    app = subprocess.Popen(
        [*command, *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert app.stdout is not None
    for line in app.stdout:
        if line.startswith("open "):
            return app, line.split()[1], time.monotonic() - begin
        print("  " + line.strip())
    raise SystemExit(app.stderr.read() if app.stderr else "no app")


def memory_of(process: int) -> float:
    """The most memory that a process has held so far, in MB."""
    text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(text.split("VmHWM:")[1].split()[0]) / 1000


def first_cards(url: str, times: int = 3) -> list[float]:
    """Seconds from asking for the page to its first card, in a real Chromium."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(times):
            page = browser.new_page()
            begin = time.monotonic()
            page.goto(url)
            page.wait_for_selector("#card .given")
            found.append(time.monotonic() - begin)
            page.close()
        browser.close()
    return found


def main() -> int:
    """Begin a review, open it, end it, go on with it."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "rows.csv", n)
        for how in ("begins, proxies trained", "goes on"):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            app, url, seconds = started(folder)
            cards = first_cards(url)
            held = memory_of(app.pid)
            app.terminate()
            app.communicate()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            print(
                f"{n:,} rows, {how}: address after {seconds:.1f} s, first card "
                f"{', '.join(f'{one:.2f}' for one in cards)} s, {held:,.0f} MB at most "
                f"({after.ru_utime - before.ru_utime:.1f} s of processor time, the browser's too; "
                f"{os.cpu_count()} cores)"
            )
    return min(cards) > AIM


if __name__ == "__main__":
    sys.exit(main())
