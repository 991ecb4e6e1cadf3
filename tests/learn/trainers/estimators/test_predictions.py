"""What fitted classifiers say: logits that agree with their own predictions."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from dris.core.errors import InputError
from dris.learn.record.recorder import Recorder
from dris.learn.trainers.estimator import EstimatorTrainer, logits_of, penultimate_of


def data(classes, n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    x = rng.normal(size=(n, 5)) + 1.5 * np.eye(5)[y]
    return x.astype(np.float32), y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("activation", ["identity", "relu", "tanh", "logistic"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("hidden", [(7,), (6, 4)])
def test_the_logits_of_a_network_are_those_behind_its_probabilities(activation, classes, hidden):
    x, y = data(classes)
    model = MLPClassifier(hidden, activation=activation, max_iter=15, random_state=0).fit(x, y)
    z = logits_of(model, x)
    assert z.shape == (90, classes)
    assert softmax(z, axis=1) == pytest.approx(model.predict_proba(x), rel=1e-4, abs=1e-6)
    sure = np.abs(z - z.max(axis=1, keepdims=True)).min(axis=1) < 1e-9
    assert (z.argmax(axis=1) == model.predict(x))[sure].all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_logits_of_a_network_keep_what_its_probabilities_round_away():
    x, y = data(2)
    model = MLPClassifier((7,), max_iter=5, random_state=0).fit(x, y)
    model.intercepts_[-1] += 200
    z = logits_of(model, x)
    assert len(np.unique(z[:, 1])) > 80
    assert len(np.unique(model.predict_proba(x)[:, 1])) == 1  # the twin: all exactly 1


def test_saturated_units_do_not_overflow():
    x, y = data(3)
    model = MLPClassifier((4,), activation="logistic", random_state=0)
    model.partial_fit(x, y, classes=[0, 1, 2])
    model.coefs_[0] *= 1e4
    assert np.isfinite(logits_of(model, x)).all()  # and no warning, which would be an error


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "modified_huber"])
def test_a_binary_decision_function_becomes_two_logits(loss):
    x, y = data(2)
    model = SGDClassifier(loss=loss, random_state=0).fit(x, y)
    z, d = logits_of(model, x), model.decision_function(x)
    assert z[:, 1] - z[:, 0] == pytest.approx(d)
    assert softmax(z, axis=1)[:, 1] == pytest.approx(expit(d))
    assert (z.argmax(axis=1) == model.predict(x)).all()
    if loss == "log_loss":
        assert softmax(z, axis=1) == pytest.approx(model.predict_proba(x), rel=1e-9)


@pytest.mark.parametrize("model", [SGDClassifier(random_state=0), Perceptron(random_state=0)])
def test_one_against_rest_values_are_taken_as_they_are(model):
    x, y = data(3)
    model.fit(x, y)
    assert np.array_equal(logits_of(model, x), model.decision_function(x))


@pytest.mark.parametrize("classes", [2, 3])
def test_models_with_probabilities_alone_give_their_logarithms(classes):
    x, y = data(classes)
    model = GaussianNB().fit(x, y)
    z = logits_of(model, x)
    assert np.isfinite(z).all()
    assert softmax(z, axis=1) == pytest.approx(model.predict_proba(x), rel=1e-5)


def numeric_norm(loss_of, weights, step=1e-5):
    """‖∂loss/∂weights‖ by central differences, one weight at a time."""
    total = 0.0
    for w in weights:
        for i in np.ndindex(w.shape):
            kept = w[i]
            w[i] = kept + step
            up = loss_of()
            w[i] = kept - step
            down = loss_of()
            w[i] = kept
            total += ((up - down) / (2 * step)) ** 2
    return np.sqrt(total)


def recorded_norms(model, x, y):
    recorder = Recorder(len(x), gradient_norm=True)
    recorder.update(np.arange(len(x)), logits_of(model, x), y, penultimate_of(model, x))
    recorder.end_epoch()
    return recorder.dynamics().column("gradient_norm")[0, 0]


@pytest.mark.parametrize("hidden", [(4,), (5, 3)])
def test_the_gradient_norm_of_a_network_is_the_numeric_one(hidden):
    x, y = data(3, n=12)
    x = x.astype(np.float64)
    model = MLPClassifier(hidden, activation="tanh", random_state=0)
    model.partial_fit(x, y, classes=[0, 1, 2])
    norms = recorded_norms(model, x, y)
    for i in range(12):

        def cross_entropy(i=i):
            p = model.predict_proba(x[i : i + 1])[0]
            return -np.log(p[y[i]])

        expected = numeric_norm(cross_entropy, (model.coefs_[-1], model.intercepts_[-1]))
        assert norms[i] == pytest.approx(expected, rel=1e-5)


def test_the_gradient_norm_of_a_linear_model_is_the_numeric_one():
    x, y = data(3, n=12)
    x = x.astype(np.float64)
    model = SGDClassifier(loss="log_loss", random_state=0).fit(x, y)
    norms = recorded_norms(model, x, y)
    for i in range(12):

        def cross_entropy(i=i):
            z = model.decision_function(x[i : i + 1])[0]
            return np.log(np.exp(z - z.max()).sum()) + z.max() - z[y[i]]

        expected = numeric_norm(cross_entropy, (model.coef_, model.intercept_))
        assert norms[i] == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_a_model_without_a_last_layer_has_no_gradient_norm():
    x, y = data(2)
    with pytest.raises(InputError, match="has no last layer"):
        penultimate_of(GaussianNB().fit(x, y), x)


def test_models_that_cannot_be_proxies_are_refused_with_a_way_out():
    from sklearn.linear_model import LogisticRegression, SGDRegressor

    with pytest.raises(InputError, match="has no partial_fit"):
        EstimatorTrainer().check(LogisticRegression())
    with pytest.raises(InputError, match="choose a classifier"):
        EstimatorTrainer().check(SGDRegressor())
    with pytest.raises(InputError, match="got the class SGDClassifier"):
        EstimatorTrainer().check(SGDClassifier)
