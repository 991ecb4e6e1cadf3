"""The loop: steps, rates and gradients by hand, measuring that touches nothing, exact resuming."""

import math
import re

import numpy as np
import pytest

from oracles_networks import images, sgd_on_a_linear_model, softmax, table

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

from dris.core.errors import InputError  # noqa: E402
from dris.learn.recipe import Recipe  # noqa: E402
from dris.learn.trainers.networks import loop  # noqa: E402
from dris.learn.trainers.networks.loop import Network  # noqa: E402
from dris.learn.trainers.networks.models import Classifier  # noqa: E402
from dris.learn.trainers.networks.sources import DatasetSource, TensorSource  # noqa: E402
from dris.learn.trainers.trainer import Passes  # noqa: E402

CPU = torch.device("cpu")


def with_dropout(shape, classes):
    body = nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 8), nn.ReLU(), nn.Dropout(0.5))
    return Classifier(body, nn.Linear(8, classes))


def with_batch_norm(shape, classes):
    body = nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 8), nn.BatchNorm1d(8), nn.ReLU())
    return Classifier(body, nn.Linear(8, classes))


def network(model="linear", data=None, *, recipe=None, source=None, rows=None, seed=0, **how):
    x, y = table() if data is None else data
    recipe = recipe or Recipe(**{"epochs": 3, "batch_size": 16, "learning_rate": 0.1, **how})
    source = source or TensorSource(x, CPU)
    schedule = None if rows is None else Passes(rows, recipe.batch_size, seed, ("proxy", 0))
    return Network(model, source, y, 3, recipe, seed=seed, stream=("proxy", 0), schedule=schedule)


def watched(trained, epochs):
    """Positions and logits of every batch, epoch by epoch."""
    seen = []
    for epoch in range(1, epochs + 1):
        seen.append([])
        trained.train_epoch(
            epoch, lambda at, logits, s=seen[-1]: s.append((at.copy(), logits.numpy().copy()))
        )
    return seen


def bytes_of(trained):
    return {name: np.array(a).tobytes() for name, a in trained.state().items()}


def test_only_the_given_rows_are_trained_on():
    rows = np.array([3, 4, 8, 20, 41, 59])
    for epoch in watched(network(rows=rows, batch_size=4), 2):
        assert sorted(np.concatenate([at for at, _ in epoch]).tolist()) == rows.tolist()


def test_augmentation_changes_what_the_network_sees_and_not_the_order_of_the_data():
    (seen, *_), (plain, *_) = (
        watched(network(data=images(), augment=augment), 1) for augment in (True, False)
    )
    assert [at.tolist() for at, _ in seen] == [at.tolist() for at, _ in plain]
    assert not np.allclose(seen[0][1], plain[0][1])


@pytest.mark.parametrize("wrong", [None, "momentum", "decay", "rate"])
def test_training_is_sgd_on_the_mean_cross_entropy_with_momentum_and_weight_decay(wrong):
    x, y = table()
    trained = network(momentum=0.9, weight_decay=0.01, learning_rate=0.5)
    weight, bias = (p.detach().numpy().copy() for p in trained.model.head.parameters())
    batches = [[at for at, _ in epoch] for epoch in watched(trained, 3)]
    given = {"rate": 0.5, "momentum": 0.9, "decay": 0.01}
    if wrong is not None:  # the twin: a little off is seen
        given[wrong] *= 0.98
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    w, b = sgd_on_a_linear_model(z, y, weight, bias, batches, epochs=3, **given)
    got = [p.detach().numpy() for p in trained.model.head.parameters()]
    same = np.allclose(got[0], w, atol=2e-5) and np.allclose(got[1], b, atol=2e-5)
    assert same == (wrong is None)


def test_batch_logits_are_those_before_the_step():
    x, _ = table()
    trained = network(batch_size=60)
    weight, bias = (p.detach().numpy().copy() for p in trained.model.head.parameters())
    ((at, logits),) = watched(trained, 1)[0]
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_allclose(logits, z[at] @ weight.T + bias, atol=1e-5)


@pytest.mark.parametrize("model", ["small_cnn", with_batch_norm, with_dropout])
def test_measuring_changes_nothing(model):
    plain, measured = network(model, images()), network(model, images())
    for epoch in (1, 2):
        for trained in (plain, measured):
            trained.train_epoch(epoch)
        before = bytes_of(measured)
        a = measured.measure(np.arange(40), hidden=True)
        assert bytes_of(measured) == before
        b = measured.measure(np.arange(40), hidden=True)
        assert all((x == y).all() for x, y in zip(a, b, strict=True))
    assert bytes_of(plain) == bytes_of(measured)


def test_measuring_an_example_does_not_depend_on_its_company():
    trained = network(with_batch_norm)
    trained.train_epoch(1)
    logits, hidden = trained.measure(np.arange(60), hidden=True)
    assert hidden.shape == (60, 8)
    some = np.array([17, 3, 3, 59])
    np.testing.assert_allclose(trained.measure(some)[0], logits[some], atol=1e-6)
    assert trained.measure(some)[1] is None


@pytest.mark.parametrize("model", ["linear", "fc", "small_cnn"])
def test_the_gradient_norm_is_that_of_the_last_layer_by_autograd(model):
    x, y = images(n=12)
    trained = network(model, (x, y), batch_size=6)
    trained.train_epoch(1)
    logits, hidden = trained.measure(np.arange(12), hidden=True)
    p = softmax(logits.astype(np.float64))
    p[np.arange(12), y] -= 1
    formula = np.linalg.norm(p, axis=1) * np.sqrt(1 + (hidden.astype(np.float64) ** 2).sum(axis=1))
    trained.model.eval()
    for i, batch in enumerate(trained._source.batches([np.array([i]) for i in range(12)])):
        loss = cross_entropy(trained.model(batch), torch.tensor([y[i]]))
        parts = torch.autograd.grad(loss, list(trained.model.head.parameters()))
        assert formula[i] == pytest.approx(
            math.sqrt(sum(float((g**2).sum()) for g in parts)), rel=1e-3, abs=1e-6
        )


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda classes: nn.Sequential(nn.Flatten(), nn.Linear(5, classes)), "Sequential .* wrap"),
        (lambda classes: Classifier(nn.Flatten(), nn.Linear(5, classes, bias=False)), "bias"),
    ],
)
def test_without_a_known_last_layer_and_its_bias_there_is_no_gradient_norm(build, says):
    trained = network(lambda shape, classes: build(classes))
    trained.measure(np.arange(3))
    with pytest.raises(InputError, match=says):
        trained.measure(np.arange(3), hidden=True)


def test_accuracy_counts_other_examples_under_the_training_datas_normalisation():
    x, y = table(n=200)
    trained = network(data=(x[:150], y[:150]), epochs=10)
    for epoch in range(1, 11):
        trained.train_epoch(epoch)
    z = (x[150:] - x[:150].mean(axis=0)) / x[:150].std(axis=0)
    weight, bias = (p.detach().numpy() for p in trained.model.head.parameters())
    wanted = ((z @ weight.T + bias).argmax(axis=1) == y[150:]).mean()
    before = bytes_of(trained)
    assert trained.accuracy(x[150:], y[150:]) == wanted
    assert bytes_of(trained) == before
    assert len(trained.measure(np.arange(150))[0]) == 150  # back on its own data


@pytest.mark.parametrize("of", ["tensor", "dataset"])
def test_no_global_random_state_is_used_or_changed(of):
    def run():
        x, y = images()
        data = TensorDataset(torch.from_numpy(x))
        source = TensorSource(x, CPU) if of == "tensor" else DatasetSource(data, CPU)
        trained = network(with_dropout, (x, y), source=source)
        trained.train_epoch(1)
        trained.measure(np.arange(40))
        return bytes_of(trained)

    torch.manual_seed(1)
    one = run()
    torch.manual_seed(2)
    np.random.seed(2)  # noqa: NPY002
    state, legacy = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    assert run() == one
    assert torch.equal(torch.get_rng_state(), state)
    assert (np.random.get_state()[1] == legacy).all()  # noqa: NPY002


def test_dropout_differs_between_epochs_and_seeds():
    a = network(with_dropout, learning_rate=1e-30, weight_decay=0, batch_size=60)
    one, two = ({int(i): z for i, z in zip(*e[0], strict=True)} for e in watched(a, 2))
    assert any(not np.allclose(one[i], two[i]) for i in range(60))


@pytest.mark.parametrize("model", ["linear", "small_cnn", with_dropout, with_batch_norm])
@pytest.mark.parametrize("cut", [0, 1, 2])
def test_going_on_from_a_state_gives_the_bytes_of_no_interruption(model, cut):
    whole, begun = network(model, images()), network(model, images())
    for epoch in (1, 2, 3):
        whole.train_epoch(epoch)
    for epoch in range(1, cut + 1):
        begun.train_epoch(epoch)
    held = begun.state()
    for epoch in range(cut + 1, 4):  # what is trained later must not reach into a held state
        begun.train_epoch(epoch)
    resumed = network(model, images())
    resumed.restore(held)
    for epoch in range(cut + 1, 4):
        resumed.train_epoch(epoch)
    assert bytes_of(resumed) == bytes_of(whole)
    logits = [t.measure(np.arange(40))[0].tobytes() for t in (whole, resumed)]
    assert logits[0] == logits[1]


def test_mixed_precision_everywhere_trains_otherwise_and_measures_in_full():
    plain, mixed = (
        network("small_cnn", images(), mixed_precision=mixed) for mixed in (False, "everywhere")
    )
    for trained in (plain, mixed):
        trained.train_epoch(1)
    assert bytes_of(plain) != bytes_of(mixed)
    plain.restore(mixed.state())
    at = np.arange(8)
    assert np.array_equal(plain.measure(at)[0], mixed.measure(at)[0])
    with pytest.raises(InputError, match=r"mixed_precision must be .* got 'half'"):
        Recipe(1, 1, 0.1, mixed_precision="half")


@pytest.mark.parametrize("steps", [1, 3, 100])
def test_logits_handed_on_several_at_once_are_those_of_every_step(monkeypatch, steps):
    wanted = watched(network("small_cnn", images(), batch_size=4), 2)
    handed, trained = [], network("small_cnn", images(), batch_size=4)
    real = loop._hand_on
    monkeypatch.setattr(
        loop, "_hand_on", lambda b, text, f: (handed.append(len(text)), real(b, text, f))
    )
    monkeypatch.setattr(loop, "_STEPS_UNSEEN", steps)
    monkeypatch.setattr(loop, "_waits", lambda device: True)  # as if on a GPU
    result = watched(trained, 2)
    for one, other in zip(wanted, result, strict=True):
        for (at, z), (again, same) in zip(one, other, strict=True):
            assert np.array_equal(at, again)
            assert z.tobytes() == same.tobytes()
    assert handed == {1: [1] * 20, 3: [3, 3, 3, 1] * 2, 100: [10, 10]}[steps]


def test_the_step_named_is_the_first_that_is_not_finite():
    losses = []
    trained = network("fc", learning_rate=1e30, batch_size=6)
    step = trained._step
    trained._step = lambda *a: (out := step(*a), losses.append(float(out[1])))[0]
    with pytest.raises(InputError) as caught:
        trained.train_epoch(1)
    first = next(i for i, loss in enumerate(losses, 1) if not math.isfinite(loss))
    assert int(re.search(r"step (\d+)", str(caught.value))[1]) == first


def test_a_broken_batch_is_named_before_its_logits_are_handed_on():
    finite = []
    trained = network("fc", learning_rate=1e30, batch_size=6)
    with pytest.raises(InputError, match="step"):
        trained.train_epoch(1, lambda at, z: finite.append(bool(z.isfinite().all())))
    assert finite
    assert all(finite)


@pytest.mark.parametrize("outputs", [2, 4])
def test_a_model_with_another_number_of_outputs_is_refused(outputs):
    trained = network(lambda shape, classes: nn.Sequential(nn.Flatten(), nn.Linear(5, outputs)))
    with pytest.raises(InputError, match=rf"3 classes.*\(16, {outputs}\)|\(15, {outputs}\)"):
        trained.train_epoch(1)


def test_images_too_small_to_crop_are_refused_unless_they_are_not_augmented():
    x, y = images(size=4)
    with pytest.raises(InputError, match=r"augment=False"):
        network("linear", (x, y))
    network("linear", (x, y), augment=False).train_epoch(1)
