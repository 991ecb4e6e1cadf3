"""What the paper does not state, as questions to its authors: one page, written from this list."""

from experiments.recipes import ATTRIBUTIONS, FIELDS

OPEN = (
    ("Are training images augmented (proxies, attacker, targets, reference)?",
     "crops and flips at the paper's scale; none for targets at cpu and mid", "22"),
    ("The gradient norm of the attack and of Standard IS: of all weights or of the last layer?",
     "of the last layer; the attack also of all weights", "07"),
    ("Forgetting: does an example that was never learned count as forgotten most, or not at all?",
     "not at all; counted most it is a rule of its own", "06"),
    ("Which of the K proxies does AUM read?", "the first", "06"),
    ("Do seeds differ in the noise mask, in the training, or in both?", "in both", "18"),
    ("Table 9 aggregates 34, 26, 20 and 12 runs; table 1 has four noises and three seeds, 12. "
     "Which runs are the others?", "12 for each rule", "13"),
    ("Table 5 has n = 7 where table 1 has 3: do the means of table 1 come from the first three?",
     "7 seeds at the paper's scale, of which table 1 has the first three", "13"),
    ("How often are Standard IS and Loss IS rebuilt, and are weights clipped?",
     "before every epoch, not clipped", "18"),
    ("What is k in the uniform hybrid?", "1/2", "18"),
    ("The hybrid score: on which scale are its two parts added, and is q drawn from or cut?",
     "added as printed and cut; two other readings beside it", "22"),
    ("Figure 1: are the K proxies copies of one network?", "yes, nested", "22"),
    ("What are τ, γ and α_trim, of which Δ′ > 0 is said?", "estimated, α_trim = 0.1", "13"),
    ("The synthetic attacker and proxies: which model, loss and epochs?",
     "a separator fitted on clean labels; linear squared hinge", "15"),
    ("MNIST: which four networks and which SGD losses?",
     "linear, 32, 128, and 256 with 128 hidden; log, hinge, squared hinge, modified Huber", "23"),
    ("Food-101: how long does the attacker train, and how is the reference fine-tuned?",
     "6 epochs of a linear probe; as a target", "23"),
    ("Food-101: six or ten epochs of linear probing?", "six", "13"),
)  # fmt: skip
"""Question, what we do, and the decision page that says why."""


def questions() -> str:
    """Both lists as Markdown: what experiments leave open, and what recipes do."""
    lines = ["| question | what we do | decision |", "|---|---|---|"]
    lines += [f"| {ask} | {ours} | {page} |" for ask, ours, page in OPEN]
    lines += ["", "| recipe | field | ours | why |", "|---|---|---|---|"]
    for name, one in ATTRIBUTIONS.items():
        for field in FIELDS:
            if field in one.inferred:
                value = getattr(one.recipe, field, "yes")
                value = "not set" if value is None else value
                lines.append(f"| `{name}` | {field} | {value} | {one.inferred[field]} |")
    lines += ["", "Stated, and where:", ""]
    lines += [
        f"- `{name}`: {', '.join(one.stated)} ({one.place})." for name, one in ATTRIBUTIONS.items()
    ]
    return "\n".join(lines)
