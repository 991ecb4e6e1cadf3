"""How the claims ended, counted: the paper's apart from ours, each piece of evidence once."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from experiments.dris_internals import OWN, Writer, from_json, reading
from experiments.registry import EXPERIMENTS
from experiments.results.causes import reason_of
from experiments.results.claims import Claim, Outcome, Whose
from experiments.results.leads import lead_table
from experiments.scales import SCALES

INDEX = "README.md"
SIGNS: dict[Outcome, str] = {
    "reproduced": "✔ reproduced",
    "contradicted": "✘ contradicted",
    "undecided": "· undecided",
    "two seeds agree": "+ two seeds agree",
    "two seeds oppose": "− two seeds oppose",
    "waiting for seeds": "… waiting for seeds",
    "not testable at this scale": "– not testable at this scale",
}
AGAINST: tuple[Outcome, ...] = ("contradicted", "two seeds oppose")
_HEADS: dict[Whose, str] = {
    "the paper's": "The paper's own claims",
    "another reading": "Other readings of the paper's words",
    "ours": "Our own claims",
}


def count_outcomes(claims: Iterable[Claim], whose: Whose) -> Counter[Outcome]:
    """How one side's claims ended, without those whose evidence another page counts.

    >>> again = Claim("b", "undecided", "", repeats="pruning")
    >>> count_outcomes([Claim("a", "undecided", ""), again], "the paper's")
    Counter({'undecided': 1})
    """
    return Counter(c.outcome for c in claims if c.whose == whose and not c.repeats)


def outcome_words(counts: Mapping[Outcome, int]) -> str:
    """Counts in words, those that are none left out.

    >>> outcome_words({"reproduced": 2, "undecided": 1})
    '2 reproduced, 1 undecided'
    """
    return ", ".join(f"{counts[o]} {o}" for o in SIGNS if counts.get(o)) or "none counted"


def claim_lines(claims: Sequence[Claim]) -> list[str]:
    """The claims one by one, after how many ended in which way.

    >>> claim_lines([Claim("a > b", "undecided", "p = 0.2")])[-1]
    '- · undecided: a > b (p = 0.2)'
    """
    head = [f"{len(claims)} claims, paired over seeds, one-sided at 0.05."]
    for whose, title in _HEADS.items():
        if any(claim.whose == whose for claim in claims):
            head.append(f"{title}: {outcome_words(count_outcomes(claims, whose))}.")
    if repeated := sum(bool(claim.repeats) for claim in claims):
        head.append(f"{repeated} repeat the evidence of another page and are not counted again.")
    return [" ".join(head), "", *map(_line, claims)]


def _line(claim: Claim) -> str:
    again = f"; counted in {claim.repeats}" if claim.repeats else ""
    return f"- {SIGNS[claim.outcome]}: {claim.text} ({claim.evidence}{again})"


def write_index(folder: Path, scale: str, *, writer: Writer = OWN) -> Path:
    """A page that lists every experiment with a page in the folder, and how its claims ended."""
    result: dict[str, list[Claim]] = {}
    titles = {}
    leads: list[list[str]] = []
    for name in EXPERIMENTS:
        path = folder / f"claims/{name}.json"
        if path.is_file():
            with reading(path, "file of claims"):
                page = from_json(path.read_bytes())
                result[name] = [Claim(**claim) for claim in page["claims"]]
                titles[name] = f"[{page['title']}]({name}.md)"
                leads += page.get("leads", ())
    lines = [
        "# The paper's experiments",
        "",
        f"Scale {scale}: {SCALES[scale].cut}. Each page is one command; a claim is reproduced or "
        "contradicted when a paired one-sided t test over three seeds or more says so at 0.05; two "
        "seeds only agree or oppose. The paper's claims are counted apart from other readings of "
        "its words and from our own; evidence that two pages show is counted once. Tables 1 and 2 "
        "give a claim for every two rules of every column, whichever way it goes, so they weigh "
        "most.",
    ]
    if leads:
        lines += ["", "## Who leads", "", *lead_table(leads)]
    for whose, title in _HEADS.items():
        counts = {name: count_outcomes(claims, whose) for name, claims in result.items()}
        shown = {name: one for name, one in counts.items() if one}
        if shown:
            lines += ["", f"## {title}", "", *_table(shown, titles)]
    lines += _parts(result, titles)
    return writer.write(
        folder / INDEX,
        [("\n".join([*lines, *_contradicted(result, titles, scale)]) + "\n").encode()],
    )


def _table(
    counts: Mapping[str, Counter[Outcome]], titles: Mapping[str, str], *, total: bool = True
) -> list[str]:
    rows = {titles[name]: one for name, one in counts.items()}
    if total:
        rows["in all"] = sum(counts.values(), Counter())
    return [
        f"| experiment | {' | '.join(SIGNS)} |",
        "|---|" + "---:|" * len(SIGNS),
        *(f"| {row} | {' | '.join(str(one[o]) for o in SIGNS)} |" for row, one in rows.items()),
    ]


def _parts(result: Mapping[str, Sequence[Claim]], titles: Mapping[str, str]) -> list[str]:
    """Table 1's orderings counted apart, those that its targets show with augmentation beside."""
    counts: dict[str, Counter[Outcome]] = {}
    for name, claims in result.items():
        for claim in claims:
            if claim.part:
                row = f"{titles[name]}: {claim.part}"
                counts.setdefault(row, Counter())[claim.outcome] += 1
    if not counts:
        return []
    lines = ["", "## Table 1's orderings, counted apart", ""]
    lines.append(
        "Decided by the paper: Welch's test on its two means and deviations, three seeds each, at "
        "0.05. With and without augmentation are counted by the same code on the same seeds."
    )
    counts = {row: counts[row] for row in sorted(counts)}
    return [*lines, "", *_table(counts, {row: row for row in counts}, total=False)]


def _contradicted(
    result: Mapping[str, Sequence[Claim]], titles: Mapping[str, str], scale: str
) -> list[str]:
    """Every claim of the paper that came out the other way, with the cause that we see."""
    rows = [
        (name, f"{claim.text} ({claim.outcome})", *reason_of(name, claim, scale))
        for name, claims in result.items()
        for claim in claims
        if claim.outcome in AGAINST and claim.whose == "the paper's" and not claim.repeats
    ]
    if not rows:
        return []
    causes = Counter(cause for _, _, cause, _ in rows)
    by = ", ".join(f"{cause} {n}" for cause, n in causes.most_common())
    lines = ["", "## Why claims of the paper came out the other way", ""]
    lines += [f"What we think, and what speaks for it: {by}.", ""]
    lines += ["| experiment | claim | cause | why |", "|---|---|---|---|"]
    return [
        *lines,
        *(f"| {titles[n]} | {text} | {cause} | {why} |" for n, text, cause, why in rows),
    ]
