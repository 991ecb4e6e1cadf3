"""Features: one pass that leaves no trace, kept so that nothing stale is ever taken for fresh."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from torch import nn  # noqa: E402
from torch.utils.data import Dataset  # noqa: E402

from dris.core.errors import InputError  # noqa: E402
from dris.learn.store.run_store import Store  # noqa: E402
from dris.learn.trainers.networks import features as module  # noqa: E402
from dris.learn.trainers.networks.features import extract_features  # noqa: E402


def images(n=10, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3, 4, 4)).astype(np.float32)


def network(seed=0, inside=nn.ReLU):
    """Convolution, BatchNorm, dropout and a mean: all that eval mode changes."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = (nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), inside(), nn.Dropout(0.5))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1))


class Pictures(Dataset):
    def __init__(self, x, labels=None):
        self.x, self.labels = x, labels

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] if self.labels is None else (self.x[i], self.labels[i])


class Made(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.forward = function


@pytest.mark.parametrize("batch_size", [1, 3, 10, 256])
def test_features_are_those_of_each_example_alone_in_eval_mode(batch_size):
    x, net = images(), network()
    got = extract_features(net, x, batch_size=batch_size)
    net.eval()
    with torch.no_grad():
        alone = [net(torch.from_numpy(x[i : i + 1])).flatten().numpy() for i in range(10)]
    assert got.shape == (10, 5)
    assert got.dtype == np.float32
    assert np.abs(got - np.stack(alone)).max() < 1e-5
    net.train()
    with torch.no_grad():
        trained = net(torch.from_numpy(x)).flatten(1).numpy()
    assert np.abs(got - trained).max() > 0.01  # the check can tell training mode


@pytest.mark.parametrize("labels", [None, list(range(10))])
def test_a_dataset_gives_the_features_of_its_array(labels):
    x, net = images(), network()
    a = extract_features(net, Pictures(x, labels), batch_size=4)
    assert np.array_equal(a, extract_features(net, x, batch_size=4))


@pytest.mark.parametrize("data", [images, lambda: Pictures(images())], ids=["array", "dataset"])
@pytest.mark.parametrize("kept", [True, False])
def test_random_state_and_modes_and_weights_are_left_alone(data, kept, tmp_path):
    net = network().train()
    net[1].eval()  # a frozen BatchNorm inside a network in training
    modes = [m.training for m in net.modules()]
    weights = {n: t.clone() for n, t in net.state_dict().items()}
    torch.manual_seed(3)
    before, also = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    extract_features(net, data(), store=tmp_path if kept else None)
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], also)  # noqa: NPY002
    assert [m.training for m in net.modules()] == modes
    assert all(torch.equal(weights[n], t) for n, t in net.state_dict().items())


def test_a_data_loader_alone_would_have_moved_the_random_state():
    before = torch.get_rng_state()
    list(torch.utils.data.DataLoader(Pictures(images()), batch_size=3))
    assert not torch.equal(torch.get_rng_state(), before)


def test_modes_are_restored_when_the_backbone_fails():
    class Fails(nn.Module):
        def forward(self, x):
            raise RuntimeError("no")

    net = nn.Sequential(Fails()).train()
    with pytest.raises(RuntimeError, match="no"):
        extract_features(net, images())
    assert net.training
    assert net[0].training


@pytest.mark.parametrize(
    ("backbone", "x", "how", "message"),
    [
        (nn.Identity(), images(), {}, r"got float32 of shape \(8, 3, 4, 4\); pool maps"),
        (Made(lambda b: b[:1]), np.eye(2), {}, r"for 2 examples, got float32 of shape \(1, 2\)"),
        (Made(lambda b: b.log()), np.eye(2), {}, "features of example 0 are not finite"),
        (
            Made(lambda b: b[:, : len(b)]),
            np.eye(3),
            {"batch_size": 2},
            "gave 2 features at first and 1",
        ),
        (nn.Identity(), np.empty((0, 3)), {}, "not empty"),
        (nn.Identity(), np.eye(2), {"batch_size": 0}, "batch_size"),
        (nn.Identity(), np.eye(2), {"device": "tpu"}, "device must be"),
        (nn.Identity(), [["a"]], {}, "x must be numbers"),
    ],
)
def test_bad_inputs_are_refused_with_a_sentence(backbone, x, how, message):
    with pytest.raises(InputError, match=message):
        extract_features(backbone, x, **how)


def refuse(*_):
    raise AssertionError("computed although the features were kept")


def test_a_second_call_maps_the_file_and_runs_nothing(tmp_path, monkeypatch):
    x, net = images(), network()
    first = extract_features(net, x, store=tmp_path)
    monkeypatch.setattr(module, "_compute", refuse)
    seen = []
    again = extract_features(
        net, x.copy(), store=Store(tmp_path), batch_size=3, progress=lambda *p: seen.append(p)
    )
    assert np.array_equal(first, again)
    assert np.array_equal(first, extract_features(net.train(), x, store=str(tmp_path)))
    assert seen == [(10, 10)]
    for kept in (first, again):
        assert not kept.flags.writeable
        assert kept.base is not None  # a view of the mapped file


def changed_weight(net):
    with torch.no_grad():
        net[0].weight[0, 0, 0, 0] += 1e-3
    return net


def changed_buffer(net):
    net[1].running_mean += 1e-3
    return net


@pytest.mark.parametrize(
    ("net", "x"),
    [
        (changed_weight(network()), images()),
        (changed_buffer(network()), images()),
        (network(inside=nn.Tanh), images()),
        (network(seed=1), images()),
        (network(), images(seed=1)),
        (network(), images()[::-1]),
        (network(), images(n=9)),
        (network(), Pictures(images(seed=1))),
        (network().double().float().bfloat16().float(), images()),
    ],
)
def test_other_weights_layers_or_data_are_computed_anew(tmp_path, monkeypatch, net, x):
    extract_features(network(), images(), store=tmp_path)
    monkeypatch.setattr(module, "_compute", refuse)
    with pytest.raises(AssertionError, match="computed although"):
        extract_features(net, x, store=tmp_path)


def test_a_dataset_is_known_by_what_it_holds_whatever_the_batch_size(tmp_path, monkeypatch):
    net, data = network(), Pictures(images())
    first = extract_features(net, data, store=tmp_path, batch_size=4)
    monkeypatch.setattr(module, "_compute", refuse)
    again = extract_features(net, Pictures(images()), store=tmp_path, batch_size=7)
    assert np.array_equal(first, again)
    other = images()
    other[9, 2, 3, 3] += 1
    with pytest.raises(AssertionError, match="computed although"):
        extract_features(net, Pictures(other), store=tmp_path)
