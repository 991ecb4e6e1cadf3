"""The paper's printed numbers, as records: they must reproduce its claims, and swapped must not."""

from experiments.paper import food, online, synthetic
from experiments.records import Records
from experiments.results.paper_values import CIFAR10_ONLINE, FOOD

JITTER = {0: -0.001, 1: 0.0, 2: 0.001}


def shaken(value, who, seed):
    """A number that moves with the seed, and with each rule by another amount."""
    return value + JITTER[seed] * (1 + sum(map(ord, who)) % 7 / 10)


def outcomes(experiment, rows):
    claims = experiment.claims(Records("", "paper", tuple(rows)))
    return {claim.text: claim.outcome for claim in claims if not claim.text.startswith("ours")}


def online_rows(accuracy, sizes):
    return [
        {
            "rule": "uniform" if plan == "uniform" else plan,
            "noise": str(noise),
            "seed": seed,
            "result": {
                "accuracy": shaken(accuracy[plan][noise.rate][0] / 100, plan, seed),
                "smallest_concentration": 1000 * shaken(sizes.get(plan, 500) / 1000, plan, seed),
            },
        }
        for plan in CIFAR10_ONLINE
        for noise in online.NOISES
        for seed in JITTER
    ]


def test_the_papers_online_numbers_reproduce_its_claims_and_swapped_ones_do_not():
    told = outcomes(online, online_rows(CIFAR10_ONLINE, {"dr_is": 4_000}))
    assert set(told.values()) == {"reproduced"}
    swapped = CIFAR10_ONLINE | {
        "dr_is": CIFAR10_ONLINE["standard_is"],
        "standard_is": CIFAR10_ONLINE["dr_is"],
    }
    told = outcomes(online, online_rows(swapped, {"dr_is": 4_000}))
    assert told["targeted 25 %: DR-IS-online above Uniform SGD"] == "contradicted"
    assert told["targeted 25 %: Standard IS at chance, within 2 points"] == "contradicted"


def food_rows(printed):
    return [
        {
            "rule": rule,
            "noise": str(noise),
            "seed": seed,
            "result": {
                "accuracy": shaken(values[0][0] / 100, rule, seed),
                "candidates": shaken(values[1][0], rule, seed),
                "contamination": shaken(values[1][0], rule, seed),
                "candidates_in_data": 0.25,
            },
        }
        for noise, setting in ((food.CLEAN, "E1"), (food.ATTACK, "E2"))
        for rule, values in printed[setting].items()
        for seed in JITTER
    ]


def test_the_papers_food_numbers_reproduce_its_claims_and_swapped_ones_do_not():
    assert set(outcomes(food, food_rows(FOOD)).values()) == {"reproduced"}
    swapped = {
        setting: rows | {"rank_variance": rows["el2n"], "el2n": rows["rank_variance"]}
        for setting, rows in FOOD.items()
    }
    told = outcomes(food, food_rows(swapped))
    assert told["E2: DR-IS above Random"] == "contradicted"
    assert told["E2: Random above EL2N"] == "contradicted"
    assert told["E1: DR-IS within 2 points of Random (the paper: 0.37 above)"] == "contradicted"


def synthetic_rows(enriched):
    return [
        {
            "seed": seed,
            "result": {
                "accuracy": {
                    method: {
                        str(c): shaken(
                            (synthetic.printed(method, c) or (50.0, 0))[0] / 100, method, seed
                        )
                        for c in synthetic.COLUMNS
                    }
                    for method in synthetic.METHODS
                },
                "disagreement": {
                    str(c): {
                        "corrupted in the data": 0.1,
                        "corrupted in DR-IS's quarter": shaken(enriched, "quarter", seed),
                        "corrupted in DR-IS's quarter, SGD proxies": shaken(0.3, "proxies", seed),
                    }
                    for c in synthetic.COLUMNS
                },
            },
        }
        for seed in JITTER
    ]


def test_the_papers_synthetic_numbers_reproduce_its_claims_and_a_cleaner_quarter_does_not():
    assert set(outcomes(synthetic, synthetic_rows(0.3)).values()) == {"reproduced"}
    told = outcomes(synthetic, synthetic_rows(0.05))
    text = "uniform 10 %: DR-IS's quarter holds more corruption than the data"
    assert [name for name, outcome in told.items() if outcome != "reproduced"] == [text]
