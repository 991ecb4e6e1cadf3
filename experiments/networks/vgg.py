"""VGG-19 with BatchNorm for 32×32 images (Simonyan and Zisserman 2015, table 1, column E)."""

from torch import nn

from experiments.dris_torch import Classifier, average, channels_of, convolution

_STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))  # channels, convolutions


def vgg19_bn(input_shape: tuple[int, ...], classes: int) -> Classifier:
    """VGG-19-BN with one linear layer from 512 features to the classes, as usual on CIFAR.

    Each of the five stages ends in a 2×2 max-pool that rounds sizes up, so that 28×28 survives
    all five. No dropout, no wide layers, and no convolution biases (BatchNorm would cancel them;
    with their 5,504 the count is 20,040,522).
    20,035,018 parameters, 398,136,320 multiply-adds on 3×32×32 with 10 classes.

    >>> vgg19_bn((3, 32, 32), 10).head.in_features
    512
    """
    inputs = channels_of(input_shape)
    layers: list[nn.Module] = []
    for channels, convolutions in _STAGES:
        for _ in range(convolutions):
            layers += [convolution(inputs, channels), nn.BatchNorm2d(channels), nn.ReLU()]
            inputs = channels
        layers.append(nn.MaxPool2d(2, ceil_mode=True))
    return Classifier(average(*layers), nn.Linear(inputs, classes))
