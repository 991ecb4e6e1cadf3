"""Proxies: the same whatever the workers, honest about folds, refused when they are copies."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.ranks import normalized_ranks
from dris.learn.attack import attacker_norms
from dris.learn.jobs.all_jobs import align, refuse_copies
from dris.learn.proxies import train_proxies
from dris.learn.trainers.job import Data
from dris.learn.trainers.standardize import as_table
from spies import Spy


def data(n=80, classes=3, seed=0, apart=1.5):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    return rng.normal(size=(n, 5)) + apart * np.eye(5)[y], y


def numbered(n=40):
    """Features whose first column is the example's number, for the spy."""
    y = np.arange(n) % 2
    return np.stack([np.arange(n), np.ones(n)], axis=1).astype(float), y


def same_bits(a, b):
    assert sorted(a.columns) == sorted(b.columns)
    for name, column in a.columns.items():
        assert column.tobytes() == b.column(name).tobytes()
    assert a.provenance == b.provenance


@pytest.fixture(autouse=True)
def _empty_log():
    Spy.log.clear()


def test_dynamics_have_every_column_in_single_precision():
    x, y = data()
    d = train_proxies(x, y, proxies=2, epochs=4, seed=1, gradient_norm=True, workers=1)
    assert d.loss.shape == (2, 4, 80)
    assert {n: c.dtype for n, c in d.columns.items()} == {
        "loss": np.float32,
        "margin": np.float32,
        "correct": np.bool_,
        "error_norm": np.float32,
        "gradient_norm": np.float32,
    }
    assert (d.scored_epoch, d.labels.tolist()) == (2, y.tolist())
    assert d.column("gradient_norm").min() > 0
    assert d.correct[:, -1].mean() > d.correct[:, 0].mean() - 0.1
    assert ((d.margin > 0) == d.correct).mean() > 0.999


def test_the_scored_epoch_and_ids_are_those_asked_for():
    x, y = data()
    names = [f"row {i}" for i in range(80)]
    d = train_proxies(
        x, y, proxies=1, epochs=3, model="sgd_log", scored_epoch=3, ids=names, workers=1
    )
    assert d.scored_epoch == 3
    assert d.ids.tolist() == names


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "modified_huber", "perceptron"])
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_models_with_any_loss_are_proxies(loss, classes):
    x, y = data(classes=classes)
    d = train_proxies(x, y, proxies=2, epochs=3, model=SGDClassifier(loss=loss), workers=1)
    assert np.isfinite(d.loss).all()
    assert d.correct[:, -1].mean() > 0.5


def test_one_two_and_three_workers_give_the_same_bits():
    x, y = data(60)
    kinds = ["mlp", "sgd_log", MLPClassifier((4,))]
    runs = [
        train_proxies(x, y, proxies=3, epochs=3, model=kinds, cross_fit=2, workers=w)
        for w in (1, 2, 3)
    ]
    same_bits(runs[0], runs[1])
    same_bits(runs[0], runs[2])


def test_another_seed_gives_other_proxies_and_a_further_proxy_moves_no_other():
    x, y = data()
    more = {"epochs": 2, "workers": 1}
    two, three = (train_proxies(x, y, proxies=k, **more) for k in (2, 3))
    same_bits(two, three.only([0, 1]))
    other = train_proxies(x, y, proxies=2, seed=1, **more)
    assert not np.array_equal(two.loss, other.loss)


def test_no_global_random_state_is_touched():
    x, y = data()
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    train_proxies(x, y, proxies=2, epochs=2, workers=1)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_an_epoch_is_one_shuffled_pass_in_batches():
    x, y = numbered(23)
    train_proxies(
        x, y, proxies=2, epochs=3, model=Spy(), batch_size=5, standardize=False, workers=1
    )
    states = list(dict.fromkeys(state for _, state, _ in Spy.log))
    assert len(states) == 2
    orders = []
    for state in states:
        mine = [(what, ids) for what, s, ids in Spy.log if s == state]
        for epoch in range(3):
            *batches, measured = mine[epoch * 6 : epoch * 6 + 6]
            assert [len(ids) for _, ids in batches] == [5, 5, 5, 5, 3]
            orders.append([i for what, ids in batches for i in ids if what == "fit"])
            assert sorted(orders[-1]) == list(range(23))
            assert measured == ("measure", list(range(23)))  # after the pass, over everything
        assert len(mine) == 18
    assert len({tuple(o) for o in orders}) == 6  # a new order in every epoch of every proxy


def trained_on(d):
    """What the spy betrays: whether the model that measured an example had trained on it."""
    return np.where(d.labels == 1, d.margin, -d.margin) > 0


@pytest.mark.parametrize("folds", [2, 3, 7, 20])
def test_cross_fitting_tells_apart_who_trained_on_an_example_and_who_did_not(folds):
    x, y = numbered(20)
    d = train_proxies(
        x, y, proxies=2, epochs=2, model=Spy(), cross_fit=folds, standardize=False, workers=1
    )
    assert not trained_on(d.out_of_fold).any()
    assert trained_on(d).all()
    fitted = [sorted(ids) for ids in fits()]
    for epoch in range(2):  # each example left out by exactly one model per epoch and proxy
        left_out = [i for ids in fitted[epoch::2] for i in range(20) if i not in ids]
        assert sorted(left_out) == sorted([*range(20)] * 2)
    assert {20 - len(ids) for ids in fitted} <= {20 // folds, -(-20 // folds)}


def fits():
    """The rows of each epoch of each model, in the order of training."""
    result = []
    for what, _, ids in Spy.log:
        if what == "measure":
            result.append([])
        elif not result:
            result.append(list(ids))
        else:
            result[-1] += ids
    return result[:-1] if result and not result[-1] else result


def test_without_folds_the_spy_betrays_every_example():
    x, y = numbered()
    d = train_proxies(x, y, proxies=2, epochs=2, model=Spy(), standardize=False, workers=1)
    assert trained_on(d).all()  # the twin: the check above can fail


@pytest.mark.parametrize("n", [60, 400])
def test_naive_bayes_ignores_its_seed_and_is_sent_away_with_the_remedy(n):
    x, y = data(n)
    with pytest.raises(
        InputError, match=r"proxies 0 and 1 are copies: GaussianNB\(\).*cross_fit=4"
    ):
        train_proxies(x, y, proxies=3, epochs=2, model=GaussianNB(), workers=1)
    d = train_proxies(x, y, proxies=3, epochs=2, model=GaussianNB(), cross_fit=4, workers=1)
    ranks = normalized_ranks(d.out_of_fold.snapshot("loss"))
    assert np.abs(ranks[0] - ranks[1]).mean() > 0.001


def test_linear_models_that_converged_to_one_solution_are_copies_too():
    x, y = data(300, apart=8)
    more = {"proxies": 2, "epochs": 40, "model": "sgd_log", "workers": 1}
    with pytest.raises(InputError, match="ranks the losses alike"):
        train_proxies(x, y, **more)
    assert train_proxies(x, y, cross_fit=4, **more).proxies == 2


def test_proxies_that_are_alike_are_no_reason_to_stop_where_folds_differ():
    # Where one column settles the label every model says the same; out of fold that is fine.
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    x = rng.normal(size=(400, 3)) + 2 * y[:, None]
    how = {"proxies": 2, "epochs": 12, "model": "linear_head", "workers": 1}
    assert train_proxies(x, y, cross_fit=4, **how).proxies == 2
    with pytest.raises(InputError, match="proxies 0 and 1 are copies"):  # the twin
        train_proxies(x, y, **how)


@pytest.mark.parametrize("scale", [1, 1e-7])
def test_proxies_that_differ_are_not_called_copies_however_sure_they_are(scale):
    loss = scale * np.random.default_rng(0).random((2, 60)).astype(np.float32)
    made = [{"model": "a"}, {"model": "b"}]
    margin = -np.log(np.expm1(loss))  # of two classes
    about = {"proxies": made}
    refuse_copies(Dynamics.from_arrays(loss=loss, margin=margin, provenance=about))
    twin = Dynamics.from_arrays(loss=loss[[0, 0]], margin=margin[[0, 0]], provenance=about)
    with pytest.raises(InputError, match="copies"):
        refuse_copies(twin)


EXPLODING = {
    "network": MLPClassifier((8,), solver="sgd", learning_rate_init=1e12, momentum=0),
    "overflow": SGDClassifier(loss="log_loss", learning_rate="constant", eta0=1e40, penalty=None),
    "beyond single": SGDClassifier(
        loss="hinge", learning_rate="constant", eta0=1e39, penalty=None, average=False
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", EXPLODING)
def test_a_diverging_proxy_is_named_with_its_epoch(kind):
    x, y = data()
    told = r"1 of 2 proxies finished; proxy 1 diverged at epoch 1: .*(lower|standardize)"
    with pytest.warns(UserWarning, match=told) as caught:
        d = train_proxies(x, y, proxies=2, epochs=3, model=["mlp", EXPLODING[kind]], workers=1)
    assert "\n" not in str(caught[0].message)
    assert d.proxies == 1
    assert "proxy 1 diverged" in d.provenance["missing"][0]


class Fuse(Spy):
    """Fine in the first two epochs of two batches, then not a number."""

    def decision_function(self, x):
        burnt = sum(s == self.random_state for what, s, _ in Spy.log if what == "fit") > 4
        return np.full(len(x), np.nan) if burnt else super().decision_function(x)


def test_the_epoch_named_is_the_one_that_broke():
    x, y = numbered(10)
    with pytest.raises(InputError, match="no proxy finished; proxy 0 diverged at epoch 3"):
        train_proxies(
            x, y, proxies=1, epochs=5, model=Fuse(), batch_size=5, standardize=False, workers=1
        )


class Broken(Spy):
    def partial_fit(self, x, y, classes=None):
        raise ValueError("something else")


def test_other_errors_of_an_estimator_pass_through():
    x, y = numbered(10)
    with pytest.raises(ValueError, match=r"^something else$"):
        train_proxies(x, y, proxies=1, epochs=1, model=Broken(), workers=1)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint8, bool])
def test_features_of_any_number_type_will_do(dtype):
    x, y = data(classes=2)
    x = (10 * x).astype(dtype)
    before = x.copy()
    for standardize in (True, False):
        d = train_proxies(
            x, y, proxies=1, epochs=1, model="sgd_log", standardize=standardize, workers=1
        )
        assert np.isfinite(d.loss).all()
    assert np.array_equal(x, before)


X, Y = data(20, classes=2)


def spoiled(value):
    x = X.copy()
    x[3, 1] = value
    return x


@pytest.mark.parametrize(
    ("x", "y", "more", "says"),
    [
        (X[0], Y, {}, r"x must be \(examples, features\)"),
        (X[:, :0], Y, {}, "not empty"),
        (spoiled(np.nan), Y, {}, "x must be finite, got nan at row 3, column 1"),
        (spoiled(1e300), Y, {}, "too large to standardize"),
        (spoiled(1e300), Y, {"standardize": False}, "does not fit single precision"),
        (X.astype(str), Y, {}, "x must be numbers"),
        (X, Y[:-1], {}, "20 examples, 19 labels"),
        (X, np.array([["a", "b"]] * 10), {}, "labels must be one-dimensional"),
        (X, np.array(["a"] * 20), {}, "classes must be at least 2"),
        (X, Y, {"classes": 1}, "labels must be below classes = 1"),
        (X, Y, {"ids": [0] * 20}, "ids must be unique"),
        (X, Y, {"proxies": 0}, "proxies must be at least 1"),
        (X, Y, {"epochs": 0}, "epochs must be at least 1"),
        (X, Y, {"batch_size": 0}, "batch_size must be at least 1"),
        (X, Y, {"seed": -1}, "seed must be at least 0"),
        (X, Y, {"workers": 0}, "workers must be at least 1"),
        (X, Y, {"scored_epoch": 3}, r"scored_epoch must be in 1\.\.2, got 3"),
        (X, Y, {"cross_fit": 1}, "cross_fit must be at least 2"),
        (X, Y, {"cross_fit": 21}, "cross_fit must be at most N = 20"),
        (X, Y, {"judged": Y, "model": "mlp"}, "judged needs stacked models and folds"),
        (X, Y, {"judged": Y, "cross_fit": 4}, "judged needs stacked models and folds"),
        (X, Y, {"standardize": (1, 3)}, "must add up to all 5, got 4"),
        (X, Y, {"model": []}, "model is an empty list"),
        (csr_array(X), Y, {}, "sparse matrix"),
        (X, Y, {"model": ["mlp", "nope"]}, "unknown model 'nope'"),
        (X, Y, {"model": GaussianNB(), "gradient_norm": True}, "has no last layer"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(x, y, more, says):
    settled = {"proxies": 2, "epochs": 2, "model": "sgd_log", "workers": 1, **more}
    with pytest.raises(InputError, match=says) as caught:
        train_proxies(x, y, **settled)
    assert "\n" not in str(caught.value)


def test_a_label_column_with_another_index_is_refused_and_the_remedies_work():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y = data()
    how = {"proxies": 2, "epochs": 2, "model": "sgd_log", "workers": 1}
    rows = pandas.DataFrame(x, index=np.arange(80) + 5)
    shuffled = pandas.Series(y, index=rows.index).sample(frac=1, random_state=0)
    with pytest.raises(InputError, match=r"same index.*\[5, 6, 7\].*reset_index\(drop=True\)"):
        train_proxies(rows, shuffled, **how)
    with pytest.raises(InputError, match="same index"):
        train_proxies(x, y, test=(rows, shuffled), **how)
    with pytest.raises(InputError, match="same index"):
        attacker_norms(rows, shuffled, model="sgd_log", epochs=2)
    expected = train_proxies(x, y, **how)
    same_bits(train_proxies(rows, shuffled.loc[rows.index], **how), expected)
    moved = pandas.Series(y, index=np.arange(80))
    same_bits(train_proxies(rows.reset_index(drop=True), moved, **how), expected)
    same_bits(train_proxies(rows, y, **how), expected)


@pytest.mark.parametrize("value", [0.1, 0.0, -3.3e7, 255])
def test_a_constant_feature_of_a_table_becomes_zero_as_in_networks(value):
    x = np.random.default_rng(0).normal(size=(999, 2))
    x[:, 1] = value
    result = as_table(Data(x, np.arange(999) % 2), True).x
    assert abs(result[:, 1]).max() < 1e-6
    scale = x.std(axis=0)
    if value == 0.1:  # the rule can fail: rounding alone makes a deviation here
        assert 0 < scale[1] < 1e-12


def test_a_stretch_of_columns_has_one_deviation_and_weighs_at_most_sixteen():
    rng = np.random.default_rng(0)
    deviations = np.r_[5.0, 1.0, 2.0, 2.0, np.linspace(1, 3, 64)]
    x = rng.normal(size=(4000, 68)) * deviations + 7
    done = as_table(Data(x, np.zeros(4000, dtype=np.int64)), (1, 3, 64)).x
    assert np.abs(done.mean(axis=0)).max() < 1e-5
    assert done[:, 0].std() == pytest.approx(1, rel=1e-5)
    ratio = x.std(axis=0) / done.std(axis=0)
    assert ratio[1:4] == pytest.approx([np.sqrt((x[:, 1:4].var(axis=0)).mean())] * 3, rel=1e-4)
    assert done[:, 1:4].var(axis=0).sum() == pytest.approx(3, rel=1e-4)  # three weigh as three
    assert done[:, 4:].var(axis=0).sum() == pytest.approx(16, rel=1e-4)  # 64 weigh as sixteen
    assert np.ptp(ratio[4:]) < 1e-3
    alone = as_table(Data(x, np.zeros(4000, dtype=np.int64)), (1,) * 68).x
    assert alone.tolist() == as_table(Data(x, np.zeros(4000, dtype=np.int64)), True).x.tolist()


def test_a_stretch_may_weigh_as_fewer_columns_than_it_has():
    x = np.random.default_rng(0).normal(size=(500, 5)) * [3, 1, 1, 1, 1]
    done = as_table(Data(x, np.zeros(500, dtype=np.int64)), (1, (4, 1))).x
    assert done[:, 0].var() == pytest.approx(1, rel=1e-4)
    assert done[:, 1:].var(axis=0).sum() == pytest.approx(1, rel=1e-4)
    plain = as_table(Data(x, np.zeros(500, dtype=np.int64)), (1, 4)).x
    assert plain[:, 1:].var(axis=0).sum() == pytest.approx(4, rel=1e-4)


def _three_blobs():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    return rng.normal(size=(240, 4)) + 3 * np.eye(3, 4)[y], y


def test_labels_that_are_only_judged_are_seen_by_no_model():
    x, y = _three_blobs()
    asked = y.copy()
    asked[:24] = (y[:24] + 1) % 3
    how = {"proxies": 2, "epochs": 6, "cross_fit": 4, "workers": 1, "rival": True, "classes": 3}
    plain, judged = train_proxies(x, y, **how), train_proxies(x, y, judged=asked, **how)
    assert judged.labels.tolist() == asked.tolist()
    rest = np.arange(24, 240)
    for one, other in ((plain, judged), (plain.out_of_fold, judged.out_of_fold)):
        assert np.array_equal(one.column("loss")[:, :, rest], other.column("loss")[:, :, rest])
    assert (judged.out_of_fold.snapshot("correct")[:, :24].mean(), plain.proxies) == (
        pytest.approx(0, abs=0.2),
        2,
    )
    moved = np.random.default_rng(1).permutation(240)
    again = train_proxies(x[moved], y[moved], judged=asked[moved], ids=moved, **how)
    assert np.array_equal(again.loss, train_proxies(x, y, judged=asked, **how).loss[:, :, moved])


def test_kinds_of_stacked_models_are_each_taken_at_their_best_epoch():
    x, y = _three_blobs()
    given = np.where(np.arange(240) % 7 == 0, (y + 1) % 3, y)
    how = {"epochs": 12, "cross_fit": 4, "workers": 1, "scored_epoch": "held_out", "patience": 3}
    both = train_proxies(x, given, proxies=3, model=["mlp", "mlp", "linear_head"], **how)
    alone = train_proxies(x, given, proxies=2, model="mlp", **how)
    assert both.scored_epoch == both.epochs[-1]
    for one, other in ((both, alone), (both.out_of_fold, alone.out_of_fold)):
        assert np.array_equal(one.snapshot("loss")[:2], other.snapshot("loss"))
    assert both.provenance["proxies"][2]["model"] == "linear_head"


def test_proxies_that_stopped_at_different_epochs_are_scored_at_one():
    def stopped_after(epochs):
        return Dynamics.from_arrays(loss=np.ones((1, epochs, 4)), margin=np.ones((1, epochs, 4)))

    # The folds of the first proxy stopped at 12 and at 6, those of the second both at 6.
    parts = [stopped_after(12).until(6), stopped_after(6)]
    assert [part.scored_epoch for part in parts] == [6, 3]
    with pytest.raises(InputError, match="scored epoch"):  # the twin: as they are
        Dynamics.merge(parts)
    joined = Dynamics.merge(align(parts))
    assert (joined.epochs[-1], joined.scored_epoch, joined.proxies) == (6, 3, 2)
