"""What the experiments need of `dris` that imports torch, and why; see `dris_internals`."""

# Networks: the paper's are built, trained and frozen as those of the library.
from dris.learn.trainers.networks.encoders import (
    Centred,
    Enlarged,
    installed_encoder,
    lite,
    pooled_lite,
)
from dris.learn.trainers.networks.features import extract_features
from dris.learn.trainers.networks.loop import Network
from dris.learn.trainers.networks.models import (
    MODELS,
    Classifier,
    average,
    build_model,
    builder_of,
    channels_of,
    convolution,
    fully_connected,
    residual_network,
)
from dris.learn.trainers.networks.sources import DatasetSource, TensorSource
