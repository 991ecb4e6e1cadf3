"""A page about a decision made from drawn losses, and text that tries to be more than text."""

import base64
import html.parser
import json
from dataclasses import replace

import numpy as np

from dris.core.checks.assumption_checks import Check
from dris.core.noise.canaries import plant_canaries
from dris.data.labelled import LabelledData
from dris.pipeline.ensemble import Ensemble
from dris.pipeline.route import decide_by
from dris.pipeline.settings import Settings
from dris.report_page.content import Details, page_of, rows_of
from made_ensemble import with_rivals

HOSTILE = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "<img src=x onerror=window.hacked=3>",
    '"><svg onload=window.hacked=4>',
    "' onfocus=window.hacked=5 autofocus '",
    "{{ 7 * 7 }}{% include 'x' %}",
    "]]><!--",
    '=HYPERLINK("http://example.invalid","x")',
    "line\u2028separator\u2029s",
    "&lt;b&gt; & \x00 \u202e",
)
RECIPE = {"seed": 0, "proxies": {"model": "mlp", "count": 3}}


def made_decision(
    n=300, classes=4, *, proxies=3, keep=0.25, ids=None, names=None, x=None, canaries=True
):
    """A decision on n examples, a fifth of the labels wrong, some canaries, some trusted."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, n)
    given = np.where(rng.random(n) < 0.2, (truth + 1) % classes, truth)
    trusted = np.arange(n) % 50 == 1
    given[trusted] = truth[trusted]
    planted = plant_canaries(given, share=0.1, rng=rng, classes=classes, avoid=trusted)
    logits = 3.0 * np.eye(classes, dtype=np.float32)[truth]
    logits = logits + rng.normal(size=(proxies, n, classes)).astype(np.float32)
    shown = planted.planted if canaries else given
    data = LabelledData.of(
        np.arange(n, dtype=np.float32)[:, None] if x is None else x,
        given,
        classes=tuple(f"class {c}" for c in range(classes)) if names is None else tuple(names),
        ids=ids,
        trusted=trusted,
    )
    kinds = (planted,) if canaries else ()
    ensemble = Ensemble(data, with_rivals(logits, shown), kinds, Settings())
    return decide_by(ensemble, keep=keep, rule="rank_variance")


def made(n=300, classes=4, *, table=None, recipe=RECIPE, limits=True, **given):
    """The page about it, each step with a limit; `table` are columns to show in place of x."""
    page = page_of(made_decision(n, classes, **given), title="Made data", recipe=recipe)
    page = replace(page, environment={"dris": "0.1.0"})
    if limits:
        page = replace(page, steps=tuple(replace(s, limit=s.kept.mean() / 5) for s in page.steps))
    if table is None:
        return page
    columns, rows = rows_of(
        list(table),
        lambda at, names: {name: [table[name][i] for i in at] for name in names},
        np.array(list(page.details.shown)),
    )
    return replace(page, details=Details(page.details.pictures, columns, rows))


def hostile(n=60):
    """A page in which every text tries to run, load or break out."""
    words = [HOSTILE[i % len(HOSTILE)] for i in range(n)]
    page = made(
        n,
        classes=len(HOSTILE),
        ids=[f"{word}{i}" for i, word in enumerate(words)],
        names=HOSTILE,
        table=dict.fromkeys(HOSTILE, words),
        recipe={word: word for word in HOSTILE},
    )
    judgement = replace(
        page.decision.judgement,
        regime=HOSTILE[1],
        reason=HOSTILE[3],
        checks={word: Check(word, "fails", 0.0, 1.0, word) for word in HOSTILE},
    )
    return replace(
        page,
        decision=replace(page.decision, judgement=judgement, notes=HOSTILE, rule=HOSTILE[2]),
        title="".join(HOSTILE),
        canary_kinds=(HOSTILE[2],),
        environment={HOSTILE[0]: {HOSTILE[2]: [HOSTILE[1]]}},
    )


def without_proxies(page):
    """The same decision as others' single model would give it: no ranks, no other fractions."""
    decision = page.decision
    alone = replace(decision, ensemble=None, judgement=None, limits=(), harm=None)
    return page_of(alone, title=page.title, recipe=page.recipe)


class Reader(html.parser.HTMLParser):
    """Tags with their attributes, the texts of scripts and styles, and all other text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.raw, self.text, self.inside = [], [], "", None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = tag if tag in ("script", "style") else None
        if self.inside:
            self.raw.append((tag, dict(attributes), ""))

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            tag, attributes, text = self.raw[-1]
            self.raw[-1] = (tag, attributes, text + data)
        else:
            self.text += data


def embedded(page):
    """What the page's script reads."""
    return next(json.loads(t) for _, a, t in Reader(page).raw if a.get("id") == "data")


def unpack(value):
    """Packed numbers, as the page's script reads them."""
    code = {"Uint8Array": "u1", "Uint16Array": "<u2", "Uint32Array": "<u4"}[value["type"]]
    return np.frombuffer(base64.b64decode(value["data"]), code)
