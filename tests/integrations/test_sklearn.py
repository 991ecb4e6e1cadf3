"""The estimators inside scikit-learn: its checks, pipelines, searches, frames; do they help?"""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import dris
from dris.core.errors import InputError
from dris.integrations.sklearn import RobustClassifier, RobustSelector
from dris.learn.store.run_store import Store

pytestmark = pytest.mark.usefixtures("harm_measured_once")
FAST = {"model": "sgd_log", "proxies": 2, "epochs": 2}
SOME = {**FAST, "rule": "rank_variance_per_class", "keep": 0.5}  # whatever the verdict says
N = 450


@pytest.fixture(scope="module")
def table():
    """Three blobs; a fifth of the labels, text, are another class's."""
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 3
    x = rng.normal(size=(N, 4)) + 3 * np.eye(3, 4)[truth]
    names = np.array(["cat", "dog", "owl"])
    given = np.where(rng.random(N) < 0.2, (truth + 1) % 3, truth)
    return x, names[given], names[truth]


# (One of them skips itself unless SCIPY_ARRAY_API is set; that is scikit-learn's doing.)


@pytest.mark.filterwarnings("ignore::UserWarning")  # tiny data: the way out is tested below
@parametrize_with_checks(
    [RobustSelector(), RobustClassifier(LogisticRegression(), epochs=4, proxies=2)]
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        RobustSelector(**FAST),
        RobustClassifier(LogisticRegression(), **{**FAST, "rule": "aum_mean"}),
    ],
    expected_failed_checks=lambda estimator: {
        f"check_sample_weight_equivalence_on_{kind}_data": "rows that are there three times are "
        "more rows to choose among than one of weight 3"
        for kind in ("dense", "sparse")
        if isinstance(estimator, RobustClassifier)
    },
)
def test_they_pass_when_tiny_data_is_chosen_from_as_well(estimator, check, monkeypatch):
    """Most of the checks have fewer examples than we choose from; here they are chosen from."""
    for home in ("choice", "route"):  # with fewer than 20 there is no choosing canary
        monkeypatch.setattr(f"dris.pipeline.{home}.MIN_ROWS_TO_PRUNE", 20)
    check(estimator)


def test_the_estimator_is_fitted_on_what_is_kept_and_on_nothing_else(table):
    x, y, _ = table
    model = RobustClassifier(LogisticRegression(), **SOME).fit(x, y)
    kept = np.flatnonzero(model.kept_)
    assert 150 < kept.size <= N // 2
    by_hand = LogisticRegression().fit(x[kept], y[kept])
    assert (model.estimator_.coef_ == by_hand.coef_).all()
    assert (model.predict_proba(x) == by_hand.predict_proba(x)).all()
    assert (model.decision_function(x) == by_hand.decision_function(x)).all()
    assert model.score(x, y) == by_hand.score(x, y)
    assert model.classes_.tolist() == ["cat", "dog", "owl"]
    assert model.n_features_in_ == 4
    assert not hasattr(model, "feature_names_in_")
    assert dris.SCORES["rank_variance"](model.decision_.ensemble.dynamics).shape == (N,)
    assert model.decision_.judgement.keep == 0.5
    assert model.decision_.kept.tolist() == kept.tolist()
    assert model.decision_.limits[0].left == kept.size  # a limit on what it was fitted on
    assert model.rule_ == model.decision_.rule == "rank_variance_per_class"
    assert np.flatnonzero(model.weights_).tolist() == kept.tolist()


def test_the_selector_alone_chooses_the_same_and_hands_out_rows(table):
    x, y, _ = table
    model = RobustClassifier(LogisticRegression(), **SOME).fit(x, y)
    selector = RobustSelector(**SOME)
    some_x, some_y = selector.fit_resample(x, y)
    assert selector.kept_.tolist() == model.kept_.tolist()
    assert selector.kept_.dtype == np.bool_
    assert np.flatnonzero(selector.kept_).tolist() == selector.decision_.kept.tolist()
    assert (some_x == x[selector.kept_]).all()
    assert (some_y == y[selector.kept_]).all()


def test_weights_reach_the_estimator(table):
    x, y, _ = table
    model = RobustClassifier(LogisticRegression(), how="importance", **SOME).fit(x, y)
    kept = model.kept_
    by_hand = LogisticRegression().fit(x[kept], y[kept], sample_weight=model.weights_[kept])
    assert (model.estimator_.coef_ == by_hand.coef_).all()
    assert (model.estimator_.coef_ != LogisticRegression().fit(x[kept], y[kept]).coef_).any()


def test_soft_weights_use_every_example_and_count_the_doubtful_for_less(table):
    x, y, truth = table
    wrong = y != truth
    how = {**SOME, "keep": None, "rule": "recommended", "model": None}
    model = RobustClassifier(LogisticRegression(), how="weights", **how).fit(x, y)
    weights = model.decision_.sample_weight
    assert (model.weights_ == weights).all()
    by_hand = LogisticRegression().fit(x, y, sample_weight=weights)
    assert model.estimator_.coef_ == pytest.approx(by_hand.coef_)
    assert weights[wrong].mean() < weights[~wrong].mean()
    dropped = RobustClassifier(LogisticRegression(), **how).fit(x, y)  # the twin: the same choice
    assert dropped.kept_.tolist() == model.kept_.tolist()
    assert (dropped.weights_ == dropped.kept_).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"how": "weight"}, "how must be one of drop, weights, importance"),
        ({"how": "weights", "keep": 0.5}, "leave keep out"),
        ({"how": "weights", "estimator": KNeighborsClassifier()}, "takes no sample_weight"),
    ],
)
def test_a_way_that_cannot_be_gone_is_refused(table, options, words):
    x, y, _ = table
    with pytest.raises(InputError, match=words):
        RobustClassifier(**{"estimator": LogisticRegression(), **options}).fit(x, y)


def test_methods_are_there_when_the_estimator_has_them(table):
    x, y, _ = table
    names = ("predict_proba", "decision_function", "score")
    has = {
        type(e).__name__: [hasattr(RobustClassifier(e, **SOME).fit(x, y), name) for name in names]
        for e in (LogisticRegression(), LinearSVC(), KNeighborsClassifier())
    }
    assert has == {
        "LogisticRegression": [True, True, True],
        "LinearSVC": [False, True, True],
        "KNeighborsClassifier": [True, False, True],
    }


def test_a_pickle_and_a_clone_do_what_the_original_does(table):
    x, y = np.array(table[0]), table[1]
    x[1] = x[0] + 0.001  # a near-duplicate, which is told from the features
    model = RobustClassifier(LogisticRegression(), **SOME).fit(x, y)
    assert "neighbours" in model.decision_.to_dict()["facts"]
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(x) == model.predict_proba(x)).all()
    assert again.decision_.to_dict() == model.decision_.to_dict()
    assert str(again.decision_) == str(model.decision_)
    assert again.decision_.suspects == model.decision_.suspects
    fresh = clone(model)
    assert not hasattr(fresh, "kept_")
    assert fresh.fit(x, y).kept_.tolist() == model.kept_.tolist()


@pytest.mark.usefixtures("harm_not_measured")
def test_a_pickle_does_not_carry_the_data():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(N, 2000)), np.arange(N) % 2
    model = RobustClassifier(LogisticRegression(), **SOME).fit(x, y)
    assert len(pickle.dumps(model)) < x.nbytes / 10


@pytest.mark.usefixtures("harm_not_measured")
def test_random_state_repeats_or_draws(table):
    x, y, _ = table

    def kept(state):
        return RobustSelector(random_state=state, **SOME).fit(x, y).kept_.tolist()

    assert kept(1) == kept(1) != kept(2)
    assert kept(np.random.RandomState(0)) == kept(np.random.RandomState(0))
    assert kept(None) != kept(None)


@pytest.mark.usefixtures("harm_not_measured")
def test_it_works_as_a_step_and_with_cross_validation(table):
    x, y, _ = table
    model = make_pipeline(StandardScaler(), RobustClassifier(LogisticRegression(), **SOME))
    result = cross_validate(model, x, y, cv=3, return_estimator=True, error_score="raise")
    assert all(score > 0.6 for score in result["test_score"])
    kept = [e[-1].kept_.sum() for e in result["estimator"]]
    assert all(100 < k <= 150 for k in kept)


@pytest.mark.usefixtures("harm_not_measured")
def test_a_search_over_keep_trains_the_proxies_once_when_there_is_a_store(table, tmp_path):
    x, y, _ = table
    model = RobustClassifier(LogisticRegression(), store=tmp_path, **SOME)
    grid = {"keep": [0.3, 0.6, 0.9], "estimator__C": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise", refit=False).fit(x, y)
    assert len(search.cv_results_["params"]) == 6
    assert len(list(Store(tmp_path).runs())) == 2 * 2  # folds and proxies, whatever the grid


def test_frames_go_through_and_the_estimator_sees_them(table):
    pd = pytest.importorskip("pandas", reason="pandas is missing")
    x, y, _ = table
    frame = pd.DataFrame(x, columns=list("abcd"), index=np.arange(N) + 7)
    labels = pd.Series(y, index=frame.index)
    first = FunctionTransformer(lambda f: f[["a", "b", "c"]])  # needs columns by name
    model = RobustClassifier(make_pipeline(first, LogisticRegression()), **SOME)
    model.fit(frame, labels)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.predict(frame).shape == (N,)
    plain = RobustSelector(**SOME).fit(x, y)
    assert model.kept_.tolist() == plain.kept_.tolist()
    some, theirs = RobustSelector(**SOME).fit_resample(frame, labels)
    assert (
        some.index.tolist() == theirs.index.tolist() == (np.flatnonzero(plain.kept_) + 7).tolist()
    )
    with pytest.raises(InputError, match="same index"):
        model.fit(frame, labels.sample(frac=1, random_state=0))


def talk(n=400, seed=0):
    """Short texts of two topics, a fifth of the labels wrong; the truth last."""
    rng = np.random.default_rng(seed)
    words = [np.array([f"{topic}{i}" for i in range(40)]) for topic in ("goal", "vote")]
    truth = np.arange(n) % 2
    filler = np.array([f"word{i}" for i in range(2000)])
    texts = [" ".join([*rng.choice(words[t], 5), *rng.choice(filler, 5)]) for t in truth]
    names = np.array(["sport", "politics"])
    wrong = rng.random(n) < 0.2
    return texts, names[np.where(wrong, 1 - truth, truth)], names[truth]


def test_after_a_vectoriser_sparse_rows_go_through_and_are_never_dense(monkeypatch):
    texts, y, truth = talk(800)  # of 400 nothing tells errors from overlap
    dense = []
    for kind in (csr_array, csr_matrix):
        whole = kind.toarray
        monkeypatch.setattr(kind, "toarray", lambda s, *a, f=whole, **k: dense.append(s) or f(s))
    robust = RobustClassifier(LogisticRegression())
    model = make_pipeline(TfidfVectorizer(), robust).fit(texts, y)
    assert dense == []
    fitted = model[-1]
    assert fitted.n_features_in_ > 1000
    assert fitted.estimator_.n_features_in_ == fitted.n_features_in_  # it sees all of them
    assert (y != truth)[fitted.kept_].mean() < (y != truth).mean() / 2
    bare = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, y)
    new, _, real = talk(seed=1)
    assert model.score(new, real) >= bare.score(new, real)
    some, theirs = RobustSelector().fit_resample(model[0].transform(texts).tocoo(), y)
    assert some.shape == (fitted.kept_.sum(), fitted.n_features_in_)
    assert (theirs == y[fitted.kept_]).all()


@pytest.mark.usefixtures("harm_not_measured")
def test_narrow_sparse_rows_choose_as_dense_ones_do(table):
    x, y, _ = table
    x = np.where(np.abs(x) < 0.5, 0, x)
    dense = RobustClassifier(LogisticRegression(), **SOME).fit(x, y)
    sparse = RobustClassifier(LogisticRegression(), **SOME).fit(csr_array(x), y)
    assert sparse.kept_.tolist() == dense.kept_.tolist()
    assert sparse.predict(csr_array(x)).tolist() == dense.predict(x).tolist()


def test_sample_weights_reach_the_estimator_and_do_not_choose(table):
    x, y, _ = table
    counts = np.random.default_rng(0).uniform(0.5, 2, N)
    plain = RobustClassifier(LogisticRegression(), **SOME).fit(x, y)
    model = RobustClassifier(LogisticRegression(), **SOME).fit(x, y, sample_weight=counts)
    kept = model.kept_
    assert kept.tolist() == plain.kept_.tolist()
    by_hand = LogisticRegression().fit(x[kept], y[kept], sample_weight=counts[kept])
    assert (model.estimator_.coef_ == by_hand.coef_).all()
    both = RobustClassifier(LogisticRegression(), how="importance", **SOME)
    disputed = both.fit(x, y).weights_
    assert both.fit(x, y, sample_weight=counts).weights_ == pytest.approx(disputed * counts)
    assert model.score(x, y, sample_weight=counts) == by_hand.score(x, y, sample_weight=counts)


@pytest.mark.usefixtures("harm_not_measured")
def test_a_weight_of_zero_leaves_an_example_out_as_if_it_were_not_there(table):
    x, y, _ = table
    counts = np.ones(N)
    counts[::10] = 0
    there = np.flatnonzero(counts)
    model = RobustSelector(**SOME).fit(x, y, sample_weight=counts)
    assert not model.kept_[counts == 0].any()
    assert model.kept_.shape == (N,)
    assert set(model.decision_.data.ids.tolist()) == set(there.tolist())
    for bad in (-counts, np.zeros(N)):
        with pytest.raises(ValueError, match=r"0 or more|one non-zero"):
            model.fit(x, y, sample_weight=bad)


@pytest.mark.usefixtures("harm_not_measured")
def test_metadata_is_routed_to_who_requests_it(table):
    x, y, _ = table
    counts = np.random.default_rng(0).uniform(0.5, 2, N)
    with config_context(enable_metadata_routing=True):
        within = LogisticRegression().set_fit_request(sample_weight=True)
        robust = RobustClassifier(within, **SOME).set_fit_request(sample_weight=True)
        robust.set_score_request(sample_weight=True)
        model = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), robust)
        model.fit(x, y, sample_weight=counts)
        kept = model[-1].kept_
        scaled = model[0].transform(x)
        by_hand = LogisticRegression().fit(scaled[kept], y[kept], sample_weight=counts[kept])
        assert (model[-1].estimator_.coef_ == by_hand.coef_).all()
        search = GridSearchCV(robust, {"keep": [0.3, 0.6]}, cv=2, error_score="raise")
        assert search.fit(x, y, sample_weight=counts).best_score_ > 0.5
        deaf = RobustClassifier(LogisticRegression().set_fit_request(sample_weight=False), **SOME)
        deaf.set_fit_request(sample_weight=True).fit(x, y, sample_weight=counts)
        unweighted = LogisticRegression().fit(x[deaf.kept_], y[deaf.kept_])
        assert (deaf.estimator_.coef_ == unweighted.coef_).all()
        with pytest.raises(UnsetMetadataPassedError):  # the twin: nobody said who is to have it
            RobustClassifier(LogisticRegression(), **SOME).fit(x, y, sample_weight=counts)


class Named(LogisticRegression):
    def fit(self, X, y, sample_weight=None, groups=None):
        self.groups_ = groups
        return super().fit(X, y, sample_weight)


@pytest.mark.usefixtures("harm_not_measured")
def test_what_else_fit_takes_reaches_the_estimator_for_those_that_are_kept(table):
    x, y, _ = table
    model = RobustClassifier(Named(), **SOME).fit(x, y, groups=np.arange(N))
    assert model.estimator_.groups_.tolist() == np.flatnonzero(model.kept_).tolist()


class Unweighted(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise AssertionError("must not be fitted")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RobustClassifier(Ridge()), "classifier, got Ridge"),
        (RobustClassifier(LogisticRegression), "classifier, got <class"),
        (
            RobustClassifier(Unweighted(), how="importance"),
            "Unweighted takes no sample_weight in fit",
        ),
        (RobustClassifier(Unweighted()), "takes no sample_weight in fit; .* without sample_weight"),
        (RobustClassifier(LogisticRegression(), keep=0), r"keep must be in \(0, 1\], got 0"),
        (RobustSelector(rule="best"), "`rule` must be one of .* got 'best'"),
        (RobustSelector(model=KNeighborsClassifier()), "has no partial_fit"),
    ],
)
def test_bad_options_are_one_sentence(table, model, words):
    x, y, _ = table
    with pytest.raises(InputError, match=words) as error:
        model.fit(x, y, sample_weight=np.ones(N) if "without" in words else None)
    assert "\n" not in str(error.value)
    assert isinstance(error.value, ValueError)


def test_little_data_is_kept_whole_with_one_warning(table):
    x, y, _ = table
    tree = DecisionTreeClassifier(random_state=0)
    with pytest.warns(UserWarning, match="45 examples") as caught:
        model = RobustClassifier(tree, **FAST).fit(x[:45], y[:45])
    assert len(caught) == 1
    assert (model.kept_.sum(), model.rule_) == (45, "everything")
    assert (model.decision_.judgement, model.decision_.limits) == (None, ())
    assert (model.predict(x) == tree.fit(x[:45], y[:45]).predict(x)).all()
    with warnings.catch_warnings():  # the twin: with enough of it nothing is said
        warnings.simplefilter("error")
        RobustClassifier(tree, **SOME).fit(x, y)


SEEDS = 8


def gains(**options):
    """Test accuracy of the robust less that of the bare classifier, one per seed."""
    x, y = load_digits(return_X_y=True)
    differences = []
    for seed in range(SEEDS):
        x1, x2, y1, y2 = train_test_split(x / 16, y, train_size=400, random_state=seed, stratify=y)
        given = dris.flip_labels(y1, 0.25, seed=seed).given
        bare = LogisticRegression(max_iter=300)
        robust = RobustClassifier(bare, random_state=seed, **options).fit(x1, given)
        differences.append(robust.score(x2, y2) - bare.fit(x1, given).score(x2, y2))
    return np.array(differences)


def helps(gain) -> bool:
    """Better for every seed: were the two alike, that would happen once in 2^8 = 256 times."""
    return bool((gain > 0).all())


@pytest.mark.slow
def test_under_25_percent_noise_it_beats_the_bare_classifier_and_a_random_choice_does_not():
    gain = gains()
    assert helps(gain), gain
    assert gain.mean() > 0.02, gain
    at_random = gains(rule="random", keep=0.75, **FAST)
    assert not helps(at_random), at_random
