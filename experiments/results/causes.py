"""Why we think that a claim of the paper came out the other way here, one by one.

Four causes: the *scale* (ours is too small to speak, a larger one is named), a *set-up not given*
(the paper leaves open what the outcome hangs on), the *paper wrong* (its own formulas say so), and
*open*.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from experiments.results.claims import Claim

Cause = Literal["scale", "set-up not given", "paper wrong", "open"]


@dataclass(frozen=True, slots=True)
class Reason:
    """A cause for the claims of an experiment whose text matches, and what speaks for it.

    `scale` is the one whose records it speaks of; "*" where it holds at any.
    """

    experiment: str
    like: str
    cause: Cause
    why: str
    scale: str = "*"


_UNLEARNED = (
    "8,000 images at 16 pixels are 80 a class: the proxies end with 18 % of the test images right, "
    "and most of what they rank is not learned yet; with all images at 32 pixels (results/mid, two "
    "seeds) DR-IS keeps 8.7 % of wrong labels and ends above Random, by 9.1 points under 25 %"
)
_EASY = (
    "few images a class, of which the easy ones, which AUM keeps, teach a small target most; but "
    "with all images at 32 pixels AUM leads as well (results/mid), so size need not be all of it"
)
_EASY_MID = (
    "a small CNN in 16 epochs of steps on AUM's 125 images a class ends at 37 to 38 % where the "
    "paper's ResNet-18 has 53 to 55: with so little learned the easy examples that it keeps may "
    "teach more; nothing larger was run to tell"
)
_HARDEST = (
    "a quarter of 8,000 images in 8 epochs of steps: so few of the hardest examples teach a target "
    "little; the paper's quarter has 12,500, each seen 640 times"
)
_HARDEST_MID = (
    "a quarter of 20,000 images in 16 epochs of steps: so few of the hardest examples, which these "
    "rules keep and AUM and DR-IS do not, teach a target little; the paper's quarter has 12,500, "
    "each seen 640 times"
)
_FORGOTTEN = (
    "whether examples that no proxy ever learned count as forgotten is not given; here they count "
    "0, so that Forgetting's quarter holds fewer wrong labels than Random's "
)
_RADIUS = (
    "McDiarmid's radius at this K exceeds 0.25, which no rank variance can exceed, so no "
    "gap can outpace it; a mean gap of 0.01 would take some 60,000 proxies, and where it is not "
    "positive no number of them is enough"
)
_LONG = (
    "how the attacker of the synthetic study was trained is not given; flipping the longest "
    "gradients of a separator fitted on clean labels moves no label that matters to a linear "
    "target, while two other readings (the longest examples, a least-squares attacker) bring "
    "Uniform SGD to 17 to 30 %, as the paper has it, though Loss IS only to 37 to 49"
)

UNSEEN = "not looked into yet"
REASONS = (
    Reason("pruning", "cifar100,* above AUM", "open", _EASY, "cpu"),
    Reason("pruning", "cifar100,*", "scale", _UNLEARNED, "cpu"),
    Reason("pruning", "cifar100,* above AUM", "open", _EASY_MID, "mid"),
    Reason("pruning", "cifar10, clean: *", "scale", _HARDEST, "cpu"),
    Reason("pruning", "cifar10, clean: *", "scale", _HARDEST_MID, "mid"),
    Reason(
        "pruning",
        "cifar10, * above Forgetting",
        "set-up not given",
        _FORGOTTEN + "(3.5 and 10.3 % under 10 %, 10.7 and 25.6 % under 25 %)",
        "cpu",
    ),
    Reason(
        "pruning",
        "cifar10, * above Forgetting",
        "set-up not given",
        _FORGOTTEN + "(18.2 and 25.3 %)",
        "mid",
    ),
    Reason(
        "pruning",
        "cifar10, targeted 10 %: * above AUM",
        "open",
        "the paper's AUM spreads by 6.7 points over its seeds here, by 0.3 in the other columns: "
        "one of its runs seems to have failed, and none of ours did",
    ),
    Reason(
        "pruning",
        "cifar10, uniform 10 %: Consensus-loss above EL2N",
        "open",
        "both collapse, and the paper's 0.7 points between them lie within its spread over seeds",
    ),
    Reason(
        "pruning",
        "cifar10, uniform 10 %: DR-IS above AUM",
        "scale",
        "proxies at 16 pixels leave 4.6 % of wrong labels in DR-IS's quarter and 0.7 % in AUM's; "
        "at 32 pixels it is 1.3 and 0.0 %, and DR-IS ends 0.5 points above AUM (results/mid)",
        "cpu",
    ),
    Reason(
        "contamination",
        "*: AUM keeps less than 1 %*",
        "scale",
        "small CNNs on whole images keep 0.2 % (results/mid: three seeds of CIFAR-10, two of "
        "CIFAR-100), and so do the paper's three networks (the anchor, one seed)",
        "cpu",
    ),
    Reason("contamination", "cifar100*", "scale", _UNLEARNED, "cpu"),
    Reason("kablation", "*McDiarmid radius*", "paper wrong", _RADIUS),
    Reason(
        "kablation",
        "*two modes*",
        "open",
        "small proxies show a valley at K = 16 alone, a few percent deep; 32 of the paper's were "
        "not run",
        "cpu",
    ),
    Reason(
        "online",
        "*Standard IS at chance*",
        "set-up not given",
        "how often its plan is rebuilt, and whether weights are clipped, is not given; here, "
        "on Fashion-MNIST, a fully connected target trains to its end in five of six runs under "
        "attack, and the sixth is measured after its last whole epoch",
        "cpu",
    ),
    Reason(
        "online",
        "*Standard IS at chance*",
        "set-up not given",
        "how often its plan is rebuilt, and whether weights are clipped, is not given; here, on "
        "CIFAR-10, it is rebuilt before every epoch with whole weights, 23 and 44 % of its draws "
        "are corrupt under 10 and 25 %, and a small CNN trains to its end in both seeds",
        "mid",
    ),
    Reason(
        "online",
        "*RHO-LOSS*",
        "set-up not given",
        "the paper's RHO samplers collapse in some seeds (deviations up to 45 points over 3); a "
        "fully connected target on Fashion-MNIST survives the same concentration",
        "cpu",
    ),
    Reason("keep", "cifar100,* above AUM, top", "open", _EASY, "cpu"),
    Reason("keep", "cifar100,*", "scale", _UNLEARNED, "cpu"),
    Reason("keep", "cifar100,* above AUM, top", "open", _EASY_MID, "mid"),
    Reason(
        "breakdown",
        "*AUM keeps less than 1 %*",
        "scale",
        "as in table 2: the anchor of the paper's networks keeps 0.2 %, small proxies at 32 pixels "
        "0.2 to 0.4 %, at 16 pixels 2 to 6 %",
        "cpu",
    ),
    Reason(
        "diversity",
        "*less than half of chance*",
        "scale",
        "proxies of 4 epochs on 8,000 small images; the anchor on 20,000 whole images keeps 4.8 %",
        "cpu",
    ),
    Reason(
        "diversity",
        "K1 has the largest*",
        "open",
        "the order of three medians that the paper gives without a reason; ours are in another",
    ),
    Reason(
        "diversity",
        "*training accuracies*",
        "scale",
        "after 4 epochs MobileNetV2 has learned less than ResNet-20 (33 against 39 %); the "
        "paper's train 40, to 73 and 76 %",
        "cpu",
    ),
    Reason("proxytypes", "*McDiarmid's radius*", "paper wrong", _RADIUS),
    Reason(
        "hybrid",
        "clean: *",
        "set-up not given",
        "whether q is sampled from or its top quarter kept, and on which scale the two scores are "
        "added, is not given; with norms scaled to the variance's range accuracy falls by steps "
        "under attack, as printed, but in no reading is β = 1 above β = 0 on clean labels here",
        "cpu",
    ),
    Reason("synthetic", "targeted *", "set-up not given", _LONG),
    Reason(
        "synthetic",
        "uniform 10 %*",
        "set-up not given",
        "the proxies' model, loss and epochs are not given; those that we take learn enough for "
        "rank variance to avoid wrong labels",
    ),
    Reason(
        "theorems",
        "*Δ′ > 0, *",
        "set-up not given",
        "the paper prints neither τ nor γ nor α_trim; with 90 % of the corrupted as the bulk, "
        "counting alone makes τ²/4 + γ at least 0.002 at 10 % and 0.013 at 25 % noise, and some "
        "proxy ranks some of the bulk far lower than that asks",
    ),
    Reason(
        "theorems",
        "*equation 6 *",
        "paper wrong",
        "its condition is met at no K that was trained, so it promises nothing; read as a "
        "prediction, as the discussion does, it is too low",
    ),
    Reason(
        "theorems",
        "*with just K = 3 proxies*",
        "scale",
        "small proxies that have learned little of few small images: on Fashion-MNIST under 25 % "
        "three heads leave out 86 % and 256 of them 94 %, on CIFAR-10 three or sixteen small CNNs "
        "87 to 89 %",
    ),
    Reason(
        "smoothing",
        "targeted 25 %*",
        "open",
        "the paper says insensitive without numbers; from ξ = 0.05 to 0.5 the uniform part of a "
        "plan grows from a twentieth to a third, and under attack uniform draws lose",
    ),
)


def reason_of(experiment: str, claim: Claim, scale: str) -> tuple[Cause, str]:
    """The first reason of a scale that matches, or that nobody has looked.

    >>> claim = Claim("cifar100, clean: a above b", "contradicted", "")
    >>> reason_of("pruning", claim, "cpu")[0], reason_of("pruning", claim, "paper")[0]
    ('scale', 'open')
    """
    for reason in REASONS:
        speaks = reason.scale in ("*", scale) and reason.experiment == experiment
        if speaks and fnmatchcase(claim.text, reason.like):
            return reason.cause, reason.why
    return "open", UNSEEN
