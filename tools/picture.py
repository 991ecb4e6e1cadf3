"""The picture of the page in the README: `python tools/picture.py dris-out/report.html`.

Needs Playwright and a Chromium; writes docs/images/report-page.png, the first screen of the page.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "report-page.png"
WIDTH, HEIGHT = 1180, 700
MAX_BYTES = 100_000


def picture_of(page: Path) -> bytes:
    """The first screen of a page as PNG in few colours."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        view = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        view.goto(page.resolve().as_uri())
        view.wait_for_timeout(500)
        taken = view.screenshot()
        browser.close()
    out = io.BytesIO()
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(64).save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    data = picture_of(Path(sys.argv[1]))
    if len(data) > MAX_BYTES:
        sys.exit(f"the picture has {len(data):,} bytes, more than {MAX_BYTES:,}")
    PICTURE.write_bytes(data)
