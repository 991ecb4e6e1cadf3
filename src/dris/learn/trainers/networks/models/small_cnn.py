"""A convolutional network for a CPU: a stem that halves the image, then three conv blocks."""

from torch import nn

from dris.learn.trainers.networks.models.base import Classifier, averaged, channels_of, convolution

_STEM = 24
_BLOCKS = (48, 96, 192)


def small_cnn(input_shape: tuple[int, ...], classes: int) -> Classifier:
    """A 5×5 stem of stride 2, then blocks of 48, 96 and 192 channels, pooled between.

    The stride in the stem keeps the wide maps, where a CPU waits for memory, at a quarter of the
    pixels. Pools round sizes up.
    222,178 parameters, 8,425,344 multiply-adds on 3×32×32 with 10 classes.

    >>> small_cnn((3, 32, 32), 10).head.in_features
    192
    """
    inputs = channels_of(input_shape)
    layers = [convolution(inputs, _STEM, 5, stride=2), nn.BatchNorm2d(_STEM), nn.ReLU()]
    inputs = _STEM
    for channels in _BLOCKS:
        layers.append(convolution(inputs, channels))
        if channels != _BLOCKS[-1]:
            # Pool before the rest: BatchNorm and ReLU then see a quarter of the values.
            layers.append(nn.MaxPool2d(2, ceil_mode=True))
        layers += [nn.BatchNorm2d(channels), nn.ReLU()]
        inputs = channels
    return Classifier(averaged(*layers), nn.Linear(inputs, classes))
