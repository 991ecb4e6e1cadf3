"""The paper's sentences about Δ' > 0, in its words, and what became of each on trained ensembles.

A claim of the theorems' page ends in the sentence that it tests.
"""

from collections import Counter
from collections.abc import Sequence

from experiments.results.claims import Claim

POSITIVE = 'Δ′ > 0, τ²/4 + γ "remains well below the boundary signal"'
WORST = '"worst-case gaps are negative", τ̂²_corr,max "dominates" τ̂²_bdry,median'
PREDICTED = '"predictive contamination bounds", equation 6 above what is measured'
REJECTED = '"rejects > 90 % of corruption with just K = 3 proxies"'
WIDEST = '"moderate noise (ε ≤ 0.35), where the separation gap Δ′ is widest", 25 % above 40 %'

_WHY = (
    "Why. Counting alone settles much of it: a bulk of (1 − α_trim) εN examples fits into the top "
    "τ of the ranks only if τ is (1 − α_trim) ε or more. With α_trim = 0.1 this makes τ²/4 + γ at "
    "least 0.002, 0.013 and 0.032 at ε = 10, 25 and 40 %, whatever the proxies and however many. "
    "The paper's own τ̂²_bdry at 25 % are 0.0085 to 0.0145, or 0.013 to 0.022 times K/(K − 1); it "
    "prints neither τ nor γ nor α_trim. The bulk's variances themselves are far below τ̂²/4 + γ̂, "
    "the worst that ranks in the top τ could do."
)
_READ = (
    "How it differs from the paper. The paper's boundary set is the 20 % of the clean examples "
    "with the smallest mean margin, fewer than the quarter kept, so that equation 6 would be "
    "silent at any K; the wide one of 34 % is large enough up to 25 % noise. τ̂²_bdry as a median "
    "is reached by half of a set only, while assumption 3 asks it of every example: both are "
    "shown, and the latter is another reading. γ̂ and τ̂ are the pair with the least τ²/4 + γ that "
    "one half of the proxies allows for a bulk that the other half chose, estimates and no "
    "bounds; below K = 8 they cannot be told. The radius is the paper's and, beside it, a tighter "
    "valid one. An interval is about what one ensemble of K proxies tells: those of one seed "
    "share their data and wrong labels. Both bounds of Theorem 3 are estimates, from as many runs "
    "as there are proxies and 2,000 pairs of examples: ranges grow with more of them."
)


def told(claims: Sequence[Claim], sentence: str) -> str:
    """In how many of the columns a sentence held, failed and stayed open.

    >>> told([Claim("a: x > y", "reproduced", ""), Claim("b: x > y", "contradicted", "")], "x > y")
    'holds in 1 of 2, fails in 1'
    """
    mine = Counter(claim.outcome for claim in claims if claim.text.endswith(sentence))
    if not mine:
        return "was not run"
    held, failed = mine["reproduced"], mine["contradicted"]
    parts = [f"holds in {held} of {mine.total()}", f"fails in {failed}" if failed else ""]
    if rest := mine.total() - held - failed:
        parts.append(f"cannot be told in {rest}")
    return ", ".join(part for part in parts if part)


def paragraphs(claims: Sequence[Claim], gaps: Sequence[tuple[float, float]]) -> list[str]:
    """What opens the page, by its claims and by Δ' and 2 · radius of every ensemble."""
    positive = sum(gap > 0 for gap, _ in gaps)
    separated = sum(gap > twice for gap, twice in gaps)
    return [
        "Which of the paper's sentences about Δ′ > 0 hold here, by columns of data and noise? "
        "That the bulk's bound τ²/4 + γ \"remains well below the boundary signal, yielding a "
        'positive, strict separation gap Δ′ > 0" (proxy diversity), that Δ′ "remains positive" '
        '(discussion) and that it is an "empirical separation gap" (paired test): '
        f"{told(claims, POSITIVE)}; of {len(gaps):,} ensembles of eight proxies or more, Δ′ is "
        f'positive in {positive}. That "worst-case gaps are negative" (discussion, comparison '
        f'with AUM): {told(claims, WORST)}. "Predictive contamination bounds" (discussion): '
        f'{told(claims, PREDICTED)}. "Rejects > 90 % of corruption with just K = 3 proxies" '
        f'(discussion): {told(claims, REJECTED)}. Δ′ "widest" at moderate noise (phase '
        f"transitions), by data sets: {told(claims, WIDEST)}; at low keep fractions it cannot be, "
        'as α is not in Δ′. That Δ′ > 0 is enough, "the separation condition" (after Theorem 1) '
        'under which the bulk is excluded "whenever the separation gap Δ′ is positive" (algorithm '
        "1; the appendix on certified contamination begins so too), is less than Theorem 1 proves: "
        "it asks Δ′ > 2 · radius (decision 8), which the paper does not claim at its K: met by "
        f"{separated} of these ensembles. Cannot be told here: that Δ′ > 0 "
        '"consistently prevents the memorization of the corrupted bulk" (no target is trained), '
        'and that a hybrid score "instantly shatters the strict separation gap" (Δ′ is of rank '
        "variance alone).",
        _WHY,
        _READ,
    ]
