"""The paper's networks, and what stands in for them on a CPU, named by import path.

`experiments.networks.vgg:vgg19_bn` is a model wherever `dris` takes one. In reading order:
`one_hidden`, `mobilenet`, `shufflenet`, `resnet18`, `vgg` (each from random weights), `count` (how
large one is), `small_mlp` (one hidden layer in NumPy), `backbones` and `torchvision_backbones`
(pretrained, for Food-101).
"""
