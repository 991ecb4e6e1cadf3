"""The paper's networks: sizes as published, counts by hand, features and head agree."""

import re

import pytest

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

import torch.nn.functional as F  # noqa: E402, N812
from torch import nn  # noqa: E402

from experiments.dris_torch import MODELS, Classifier, build_model, builder_of  # noqa: E402
from experiments.networks.count import (  # noqa: E402
    count_parameters,
    multiply_adds,
    values_written,
)
from experiments.networks.shufflenet import _interleaved  # noqa: E402

RGB, GREY = (3, 32, 32), (1, 28, 28)
PAPERS = [
    f"experiments.networks.{path}"
    for path in (
        "mobilenet:mobilenet_v2_x0_5",
        "resnet18:resnet18",
        "shufflenet:shufflenet_v2_x0_5",
        "vgg:vgg19_bn",
    )
]


def batch(shape, n=4):
    return torch.randn((n, *shape), generator=torch.Generator().manual_seed(n))


def conv_weights(*layers):
    """Weights of k×k convolutions without bias, BatchNorm's two vectors beside each."""
    return sum(k * k * i * o + 2 * o for k, i, o in layers)


def test_resnet20_has_the_272474_parameters_summed_by_hand():
    stem = conv_weights((3, 3, 16))
    one = 6 * conv_weights((3, 16, 16))
    two = conv_weights((3, 16, 32), (1, 16, 32)) + 5 * conv_weights((3, 32, 32))
    three = conv_weights((3, 32, 64), (1, 32, 64)) + 5 * conv_weights((3, 64, 64))
    by_hand = stem + one + two + three + 64 * 10 + 10
    assert by_hand == 272_474
    assert count_parameters(build_model("resnet20", RGB, 10, seed=0)) == by_hand


def test_resnet20_multiply_adds_are_those_summed_by_hand():
    # Per stage: 3×3 convolutions, and one 1×1 projection of as many products in stages 2 and 3.
    stem = 9 * 3 * 16 * 32**2
    one = 6 * 9 * 16 * 16 * 32**2
    two = (9 * 16 * 32 + 16 * 32 + 5 * 9 * 32 * 32) * 16**2
    three = (9 * 32 * 64 + 32 * 64 + 5 * 9 * 64 * 64) * 8**2
    by_hand = stem + one + two + three + 64 * 10
    assert multiply_adds(build_model("resnet20", RGB, 10, seed=0), RGB) == by_hand


# Millions of parameters and of multiply-adds, as published for 32×32 and ten classes.
PUBLISHED = {
    "resnet20": (0.27, 40.81),
    "experiments.networks.mobilenet:mobilenet_v2_x0_5": (0.70, 27.97),
    "experiments.networks.shufflenet:shufflenet_v2_x0_5": (0.35, 10.90),
    "experiments.networks.vgg:vgg19_bn": (20.04, 398.14),
    "experiments.networks.resnet18:resnet18": (11.17, 555.42),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_sizes_agree_with_the_published_ones(name):
    model = build_model(name, RGB, 10, seed=0)
    millions = (count_parameters(model) / 1e6, multiply_adds(model, RGB) / 1e6)
    assert tuple(round(m, 2) for m in millions) == PUBLISHED[name]


@pytest.mark.parametrize("name", [*sorted(MODELS), *PAPERS])
def test_the_docstring_states_the_true_sizes(name):
    text = " ".join(builder_of(name)[0].__doc__.split())
    result = re.search(
        r"([\d,]+) parameters, ([\d,]+) multiply-adds on (\d+)×(\d+)×(\d+) with 10 classes", text
    )
    assert result, f"{name} does not state its size"
    parameters, products, *shape = (int(g.replace(",", "")) for g in result.groups())
    model = build_model(name, shape, 10, seed=0)
    assert (count_parameters(model), multiply_adds(model, tuple(shape))) == (parameters, products)


def test_multiply_adds_of_a_grouped_strided_convolution_are_counted_by_hand():
    # 8 outputs × 3×3 positions, each a sum of 5×5 pixels over 4/2 channels.
    assert multiply_adds(nn.Conv2d(4, 8, 5, 2, padding=2, groups=2), (4, 6, 6)) == 8 * 9 * 25 * 2


def test_multiply_adds_counts_a_layer_as_often_as_it_runs():
    layer = nn.Linear(5, 5)
    assert multiply_adds(nn.Sequential(layer, nn.ReLU(), layer), (5,)) == 50
    assert count_parameters(nn.Sequential(layer, layer)) == 30


def test_multiply_adds_counts_a_layer_whose_weight_is_made_by_another():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(5, 3))
    assert multiply_adds(nn.Sequential(layer), (5,)) == 15


def test_values_written_are_those_of_every_layer_but_not_of_what_holds_it():
    convolution = nn.Conv2d(4, 8, 3, padding=1, groups=4)  # 8 × 6×6 values, however few products
    inner = nn.Sequential(convolution, nn.BatchNorm2d(8))
    assert values_written(nn.Sequential(inner, nn.ReLU()), (4, 6, 6)) == 3 * 8 * 36


def test_multiply_adds_leaves_the_model_as_it_was():
    model = build_model("small_cnn", RGB, 10, seed=0).train()
    model.body[0].eval()
    modes = [m.training for m in model.modules()]
    before = {k: v.clone() for k, v in model.state_dict().items()}
    multiply_adds(model, RGB)
    assert [m.training for m in model.modules()] == modes
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    assert not any(m._forward_hooks for m in model.modules())


def test_multiply_adds_restores_the_model_when_the_shape_is_wrong():
    model = build_model("small_cnn", RGB, 10, seed=0).train()
    with pytest.raises(RuntimeError):
        multiply_adds(model, (4, 32, 32))
    assert model.training
    assert not any(m._forward_hooks for m in model.modules())


@pytest.mark.parametrize("shape", [RGB, GREY])
@pytest.mark.parametrize("name", PAPERS)
def test_features_then_head_are_the_logits_and_gradients_reach_every_parameter(name, shape):
    model, x = build_model(name, shape, 7, seed=0).eval(), batch(shape)
    with torch.no_grad():
        features = model.features(x)
        assert isinstance(model, Classifier)
        assert torch.equal(model.head(features), model(x))
        torch.testing.assert_close(model(x[:1]), model(x)[:1], rtol=1e-4, atol=1e-4)
    F.cross_entropy(model.train()(x), torch.arange(4)).backward()
    norms = [float(p.grad.norm()) for p in model.parameters()]
    assert all(0 < norm < float("inf") for norm in norms)


def test_shuffled_channels_are_a_concatenation_then_a_shuffle_of_two_groups():
    left, right = torch.arange(3.0).view(1, 3, 1, 1), torch.arange(10.0, 13.0).view(1, 3, 1, 1)
    shuffled = F.channel_shuffle(torch.cat((left, right), 1), 2)
    assert _interleaved(left, right).flatten().tolist() == [0, 10, 1, 11, 2, 12]
    assert not torch.equal(torch.cat((left, right), 1), shuffled)
    assert torch.equal(_interleaved(left, right), shuffled)
