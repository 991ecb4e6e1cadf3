"""What every model here is: features, then one linear head."""

from torch import Tensor, nn

from dris.core.errors import InputError


class Classifier(nn.Module):
    """A network whose logits are `head(features(x))`, features of shape (example, feature).

    With both in hand, the exact gradient norm of the last layer, ‖p − e_y‖·‖(φ(x), 1)‖, costs
    one forward pass. Wrap a network of your own, `Classifier(body, nn.Linear(512, 10))`, to give
    it the same; a plain `nn.Module` serves everywhere else. The test for this is `isinstance`,
    not the attribute names: other libraries' models carry a `features` and a `head` with more
    layers between the two.

    >>> import torch
    >>> model = Classifier(nn.Flatten(), nn.Linear(4, 3))
    >>> model.features(torch.zeros(2, 1, 2, 2)).shape, model(torch.zeros(2, 1, 2, 2)).shape
    (torch.Size([2, 4]), torch.Size([2, 3]))
    """

    def __init__(self, body: nn.Module, head: nn.Linear) -> None:
        super().__init__()
        if not isinstance(head, nn.Linear):
            raise InputError(f"head must be an nn.Linear, got {type(head).__name__}")
        self.body = body
        self.head = head

    def features(self, x: Tensor) -> Tensor:
        """What the head reads: one row per example."""
        features: Tensor = self.body(x)
        return features

    def forward(self, x: Tensor) -> Tensor:
        """The logits: one row per example, one column per class."""
        logits: Tensor = self.head(self.features(x))
        return logits


def channels_of(input_shape: tuple[int, ...]) -> int:
    """The channels of an image shape, which must be (channels, height, width).

    >>> channels_of((3, 32, 32))
    3
    """
    if len(input_shape) != 3:
        raise InputError(
            "a convolutional network needs input_shape (channels, height, width), "
            f'got {input_shape}; use "fc" or "linear" for vectors'
        )
    return input_shape[0]


def convolution(
    inputs: int, outputs: int, kernel: int = 3, *, stride: int = 1, groups: int = 1
) -> nn.Conv2d:
    """A convolution to be followed by BatchNorm: no bias, "same" padding, torch's initialisation.

    Under BatchNorm the size of the initial weights sets only how far a step of given learning
    rate turns them: torch's filters have a squared norm of 1/3, He's of 2, so the same step turns
    torch's further.

    >>> convolution(3, 16).weight.shape
    torch.Size([16, 3, 3, 3])
    """
    return nn.Conv2d(
        inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False
    )


def averaged(*layers: nn.Module) -> nn.Sequential:
    """Layers, then the mean over what is left of height and width: (example, channel).

    >>> import torch
    >>> averaged(nn.Identity())(torch.ones(2, 5, 3, 3)).shape
    torch.Size([2, 5])
    """
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
