"""Models: the same bytes from the same seed, features and head agree."""

import sys
from functools import partial

import pytest

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

import torch.nn.functional as F  # noqa: E402, N812
from torch import nn  # noqa: E402

from dris.core.errors import InputError  # noqa: E402
from dris.learn.trainers.networks.models import (  # noqa: E402  # noqa: E402
    MODELS,
    Classifier,
    build_model,
    fully_connected,
    linear,
)

RGB, GREY = (3, 32, 32), (1, 28, 28)
CONVOLUTIONAL = sorted(set(MODELS) - {"linear", "fc"})
SHAPES = [(name, shape) for name in sorted(MODELS) for shape in (RGB, GREY)]


def _parameters(model):
    return sum(p.numel() for p in model.parameters())


def batch(shape, n=4):
    return torch.randn((n, *shape), generator=torch.Generator().manual_seed(n))


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_features_then_head_are_the_logits(name, shape):
    model = build_model(name, shape, 7, seed=0).eval()
    x = batch(shape)
    with torch.no_grad():
        features = model.features(x)
        assert isinstance(model, Classifier)
        assert features.shape == (4, model.head.in_features)
        assert torch.equal(model.head(features), model(x))
        assert model(x).shape == (4, 7)


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_one_example_alone_gets_the_logits_it_gets_in_a_batch(name, shape):
    model = build_model(name, shape, 10, seed=0).eval()
    x = batch(shape)
    with torch.no_grad():
        torch.testing.assert_close(model(x[:1]), model(x)[:1], rtol=1e-4, atol=1e-4)


def unreached(model, shape):
    """The parameters to which no finite gradient other than zero comes back."""
    F.cross_entropy(model.train()(batch(shape)), torch.arange(4)).backward()
    return [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is None or not 0 < float(parameter.grad.norm()) < float("inf")
    ]


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_the_gradient_reaches_every_parameter(name, shape):
    assert unreached(build_model(name, shape, 10, seed=0), shape) == []


def test_a_layer_cut_off_from_the_loss_is_found():
    class Cut(nn.Linear):
        def forward(self, x):
            return super().forward(x).detach()

    model = Classifier(Cut(6, 5), nn.Linear(5, 10))
    assert unreached(model, (6,)) == ["body.weight", "body.bias"]


def test_dense_models_read_vectors_and_mlp_takes_any_widths():
    assert build_model("linear", (20,), 2, seed=0)(batch((20,))).shape == (4, 2)
    model = build_model(partial(fully_connected, hidden=(32, 16, 8)), (20,), 2, seed=0)
    assert [m.out_features for m in model.modules() if isinstance(m, nn.Linear)] == [32, 16, 8, 2]


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(name):
    torch.rand(3)  # where the global stream stands must not matter
    first, again, other = (build_model(name, RGB, 10, seed=s).state_dict() for s in (1, 1, 2))
    assert all(first[k].numpy().tobytes() == again[k].numpy().tobytes() for k in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def reseeding(input_shape, classes):
    torch.manual_seed(5)
    return nn.Linear(input_shape[0], classes)


def test_the_global_random_state_is_left_exactly_as_it_was():
    for spec in [*MODELS, reseeding]:
        before = torch.get_rng_state()
        build_model(spec, RGB, 10, seed=0)
        assert torch.equal(torch.get_rng_state(), before), spec


def test_the_global_random_state_survives_a_builder_that_fails():
    def failing(input_shape, classes):
        torch.rand(1)
        raise OSError("no disk")

    before = torch.get_rng_state()
    with pytest.raises(OSError, match="no disk"):
        build_model(failing, RGB, 10, seed=0)
    assert torch.equal(torch.get_rng_state(), before)


def test_building_without_the_fork_would_move_the_global_state():
    before = torch.get_rng_state()
    linear(RGB, 10)
    assert not torch.equal(torch.get_rng_state(), before)


class OwnNet(nn.Module):
    def __init__(self, input_shape, classes):
        super().__init__()
        self.out = nn.Linear(input_shape[0], classes)

    def forward(self, x):
        return self.out(x)


@pytest.mark.parametrize(
    "spec",
    [OwnNet, lambda shape, classes: OwnNet(shape, classes), lambda *a: nn.Linear(a[0][0], a[1])],
)
def test_any_callable_that_returns_a_module_is_a_model(spec):
    model = build_model(spec, (6,), 3, seed=0)
    assert model(torch.zeros(2, 6)).shape == (2, 3)
    assert _parameters(model) == 21


def test_an_import_path_is_a_model(tmp_path, monkeypatch):
    (tmp_path / "own_models_a.py").write_text(
        "from torch import nn\n"
        "class Zoo:\n"
        "    @staticmethod\n"
        "    def tiny(shape, classes):\n"
        "        return nn.Linear(shape[0], classes)\n"
        "tiny = Zoo.tiny\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    for path in ("own_models_a:tiny", "own_models_a:Zoo.tiny"):
        assert _parameters(build_model(path, (6,), 3, seed=0)) == 21
    assert isinstance(
        build_model("dris.learn.trainers.networks.models:resnet20", RGB, 10, seed=0), Classifier
    )
    monkeypatch.delitem(sys.modules, "own_models_a")


def fails(message, spec="linear", shape=(4,), classes=2, seed=0):
    with pytest.raises(InputError, match=message) as caught:
        build_model(spec, shape, classes, seed=seed)
    assert "\n" not in str(caught.value)


def test_what_is_no_model_is_refused():
    fails("a name or a function, got 3", spec=3)
    fails("got a built Linear", spec=nn.Linear(4, 2))
    fails("must return an nn.Module, got str", spec=lambda shape, classes: "net")
    fails("must return an nn.Module, got type", spec=lambda shape, classes: OwnNet)
    fails(
        r"must take \(input_shape, classes\), its signature is \(\)", spec=lambda: nn.Linear(4, 2)
    )


def test_an_import_path_that_fails_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "own_models_b.py").write_text(
        "from torch import nn\nnet, three = nn.ReLU(), 3\n", encoding="utf-8"
    )
    (tmp_path / "own_models_c.py").write_text("raise OSError('two\\nlines')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    fails("cannot be imported .ModuleNotFoundError: No module named 'no_such", spec="no_such:net")
    fails("cannot be imported .AttributeError.*absent", spec="own_models_b:absent")
    fails("cannot be imported .OSError: two lines", spec="own_models_c:net")
    for path in (":net", "own_models_b:", "own_models_b:net:net", "..:net"):
        fails("cannot be imported", spec=path)
    fails("must name a function, got int", spec="own_models_b:three")
    fails("must name a function, got ReLU", spec="own_models_b:net")
    monkeypatch.delitem(sys.modules, "own_models_b")


@pytest.mark.parametrize("name", CONVOLUTIONAL)
@pytest.mark.parametrize("shape", [(20,), (32, 32), (1, 3, 32, 32)])
def test_a_convolutional_network_refuses_what_is_no_image(name, shape):
    fails(r"needs input_shape \(channels, height, width\)", spec=name, shape=shape)


def test_bad_names_and_seeds_are_refused():
    fails(rf"one of {', '.join(sorted(MODELS))}, .*got 'resnet21'", spec="resnet21")
    fails("seed must be at least 0, got -1", seed=-1)
    fails("seed must be a whole number, got 'a'", seed="a")
