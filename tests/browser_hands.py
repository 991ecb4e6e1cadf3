"""What a person does to the page or the app, and sees there: drag, count, look."""

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


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


CONTRAST = """() => {
    const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
    const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) =>
        0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
    const behind = e => {
        for (; e; e = e.parentElement) {
            const c = parse(getComputedStyle(e).backgroundColor);
            if (c.length === 3 || c[3] > 0.99) return c;
        }
        return [255, 255, 255];
    };
    const hasText = e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    const exempt = 'svg, noscript, :disabled, [aria-hidden=true]';
    const bad = [];
    for (const e of document.querySelectorAll('main *, header *, footer')) {
        if (!hasText(e) || !e.getClientRects().length || e.closest(exempt)) continue;
        const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) bad.push(`${e.outerHTML.slice(0, 80)} ${ratio.toFixed(2)}`);
    }
    return bad;
}"""

NAMELESS = """() => {
        const wanted = 'button, input, select, canvas, svg.chart, img';
        const named = e => e.getAttribute('aria-label') || e.alt || e.textContent.trim()
            || (e.labels && e.labels.length);
        return [...document.querySelectorAll(wanted)]
            .filter(e => e.getClientRects().length && !named(e)).map(e => e.outerHTML.slice(0, 80));
    }"""
