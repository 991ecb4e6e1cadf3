"""ResNet-18 for 32×32 images (He et al. 2016), the paper's target on CIFAR-100."""

from experiments.dris_torch import Classifier, residual_network


def resnet18(input_shape: tuple[int, ...], classes: int) -> Classifier:
    """ResNet-18 for 32×32: 3×3 first convolution of stride 1, no max-pool, stages of two blocks.

    Stages of 64, 128, 256 and 512 channels, strides 1, 2, 2, 2.
    11,173,962 parameters, 555,422,720 multiply-adds on 3×32×32 with 10 classes.

    >>> resnet18((3, 32, 32), 10).head.in_features
    512
    """
    return residual_network(input_shape, classes, widths=(64, 128, 256, 512), blocks=2)
