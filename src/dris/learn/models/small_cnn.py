"""A small convolutional network."""

from torch import nn

from dris.learn.models.base import Classifier, averaged, channels_of, convolution


def small_cnn(input_shape: tuple[int, ...], classes: int) -> Classifier:
    """Placeholder."""
    inputs = channels_of(input_shape)
    layers: list[nn.Module] = []
    for channels in (32, 64, 128):
        layers += [
            convolution(inputs, channels),
            nn.MaxPool2d(2),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        ]
        inputs = channels
    return Classifier(averaged(*layers), nn.Linear(inputs, classes))
