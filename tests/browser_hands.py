"""What a person does to the report, and sees there: drag, count, look."""

import re


def status(page):
    return page.locator("#panel-status").inner_text()


def counted(page):
    return int(re.match(r"([\d,]+) example", status(page))[1].replace(",", ""))


def drag(page, x0, y0, x1, y1):
    """Drag over the canvas, in shares of its size."""
    page.locator("#plane").scroll_into_view_if_needed()
    box = page.locator("#plane").bounding_box()
    ends = [
        (box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in ((x0, y0), (x1, y1))
    ]
    page.mouse.move(*ends[0])
    page.mouse.down()
    page.mouse.move(*ends[1], steps=4)
    page.mouse.up()


def ink(page):
    """How many colours the plane has."""
    return page.evaluate("""() => {
        const c = document.getElementById('plane'), pen = c.getContext('2d'), seen = new Set();
        const pixels = new Uint32Array(pen.getImageData(0, 0, c.width, c.height).data.buffer);
        for (const pixel of pixels) if (pixel >>> 24) seen.add(pixel);
        return seen.size;
    }""")
