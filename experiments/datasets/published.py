"""Every known data set: where its authors publish it, its checksums, licence and citation."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dris import InputError
from experiments.datasets import class_names
from experiments.datasets.archives import LocalFile, Published, read_parts, unpack_tree
from experiments.datasets.food101 import read_food101
from experiments.datasets.mixture import two_cluster_mixture
from experiments.datasets.official_formats import Splits, cifar_splits, idx_splits
from experiments.dris_internals import rng_for


@dataclass(frozen=True, slots=True)
class KnownSet:
    """A data set dris can read by name; one without published files needs none."""

    name: str
    published: tuple[Published, ...]
    read: Callable[[tuple[LocalFile, ...]], Splits]
    licence: str
    citation: str
    homepage: str


def _digits(local: tuple[LocalFile, ...]) -> Splits:
    """scikit-learn's 1,797 digits as a table; a fifth of each class, by a fixed draw, is test."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    rng = rng_for(0, "known", "digits", "split")
    test = np.zeros(len(y), dtype=np.bool_)
    for label in range(10):
        members = np.flatnonzero(y == label)
        test[rng.permutation(members)[: len(members) // 5]] = True
    x, y = x.astype(np.float32), y.astype(np.int64)
    return Splits(x[~test], y[~test], x[test], y[test], class_names.DIGITS)


def _synthetic(local: tuple[LocalFile, ...]) -> Splits:
    """The paper's 2,000 examples and 1,000 for testing, at seed 0."""
    train = two_cluster_mixture(2000, seed=0, split="train")
    test = two_cluster_mixture(1000, seed=0, split="test")
    return Splits(train.x, train.y, test.x, test.y, ("0", "1"))


def read_idx(local: tuple[LocalFile, ...], *, classes: tuple[str, ...]) -> Splits:
    """MNIST and its likes: four idx files."""
    parts = {name: blob for one in local for name, blob in read_parts(one).items()}
    return idx_splits(parts, classes)


def read_cifar(
    local: tuple[LocalFile, ...], *, classes: tuple[str, ...], labels: int, column: int
) -> Splits:
    """CIFAR: one archive of binary batches."""
    (archive,) = local
    parts = read_parts(archive)
    ordered = {name: parts[name] for name in archive.published.parts}
    return cifar_splits(ordered, classes, labels=labels, column=column)


def read_cifar10n(local: tuple[LocalFile, ...]) -> Splits:
    """CIFAR-10 under the labels that people gave it, each array checked, in CIFAR-10's order."""
    archive, people = local
    splits = read_cifar((archive,), classes=class_names.CIFAR10, labels=1, column=0)
    path = people.path if people.packed else people.path / people.published.file
    with np.load(path, allow_pickle=False) as arrays:
        labels = {name: arrays[name] for name in _CIFAR10N if name in arrays}
    for name, want in _CIFAR10N.items():
        made = np.ascontiguousarray(labels.get(name, ()), dtype=np.int8).tobytes()
        if hashlib.sha256(made).hexdigest() != want:
            raise InputError(f"{path}: {name} is missing or is not as published; replace the file")
    given = {title: labels[name].astype(np.int64) for title, name in HUMAN_LABELS.items()}
    return replace(splits, given=given)


def read_tree(local: tuple[LocalFile, ...]) -> Splits:
    """Food-101: a tree of images, unpacked beside its archive the first time."""
    (tree,) = local
    return read_food101(unpack_tree(tree) if tree.packed else tree.path)


def idx_files(
    folder: str, base: str, md5_of: dict[str, str], sha256: Mapping[str, str]
) -> tuple[Published, ...]:
    """The four files of an MNIST-like set, each checked by the sums of what is inside."""
    return tuple(
        Published(f"{base}{name}.gz", f"{folder}/{name}.gz", folder, {name: md5}, sha256=sha256)
        for name, md5 in md5_of.items()
    )


# Of the same bytes as the published checksums, which are weaker; Food-101's are not known here.
_MNIST_SHA256 = {
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
}
_FASHION_SHA256 = {
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
}
_CIFAR10_SHA256 = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}
_CIFAR100_SHA256 = {
    "test.bin": "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a",
    "train.bin": "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29",
}

_CIFAR_HOME = "https://www.cs.toronto.edu/~kriz/cifar.html"
_CIFAR_LICENCE = "none stated; research use, with citation"
_CIFAR_CITATION = (
    "A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images, "
    "technical report, University of Toronto, 2009"
)
_CIFAR10 = Published(
    address="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    file="cifar-10-binary.tar.gz",
    folder="cifar-10-batches-bin",
    md5="c32a1d4ab5d03f1284b67883e8d87530",
    parts={
        "data_batch_1.bin": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
        "data_batch_2.bin": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
        "data_batch_3.bin": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
        "data_batch_4.bin": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
        "data_batch_5.bin": "26e2849e66a845b7f1e4614ae70f4889ae604628",
        "test_batch.bin": "67eb016db431130d61cd03c7ad570b013799c88c",
    },
    sha256=_CIFAR10_SHA256,
)
_CIFAR100 = Published(
    address="https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
    file="cifar-100-binary.tar.gz",
    folder="cifar-100-binary",
    md5="03b5dce01913d631647c71ecec9e9cb8",
    parts={
        "train.bin": "e207cd2e05b73b1393c74c7f5e7bea451d63e08e",
        "test.bin": "8fb6623e830365ff53cf14adec797474f5478006",
    },
    sha256=_CIFAR100_SHA256,
)

HUMAN_LABELS = {
    "aggregate": "aggre_label",
    "random1": "random_label1",
    "worse": "worse_label",
}
"""CIFAR-10N's label sets by the names of noises: a majority, one person, the worst of three."""
_CIFAR10N_FILE = Published(
    address="",
    file="cifar-10n.npz",
    folder="cifar-10n",
    parts={"cifar-10n.npz": None},
    by_hand="its authors publish a pickle, which dris does not load; save its arrays clean_label, "
    "aggre_label, random_label1 and worse_label by numpy.savez_compressed",
)
# SHA-256 of the labels as int8, however the file is packed.
_CIFAR10N = {
    "clean_label": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
    "aggre_label": "2bd5e02e39c9c79772cf4c794f7b74630ac1aaeeac4b807a63c11e9a375f8404",
    "random_label1": "8d01b5a5af048e84bf6e964c86e1133e95d5b22c07763e23705b714ad0f32d8b",
    "worse_label": "11a306ed336e3bc81aaac36322ddf12de379d0df1883aa43e10ba562a98f6b2a",
}

_SETS = (
    KnownSet(
        name="digits",
        published=(),
        read=_digits,
        licence="CC BY 4.0",
        citation="E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998",
        homepage="https://archive.ics.uci.edu/dataset/80",
    ),
    KnownSet(
        name="mnist",
        # The authors' own page no longer serves the files; this copy is byte for byte theirs.
        published=idx_files(
            "mnist",
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            {
                "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
                "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
                "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
                "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
            },
            _MNIST_SHA256,
        ),
        read=partial(read_idx, classes=class_names.DIGITS),
        licence="CC BY-SA 3.0",
        citation=(
            "Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, Gradient-Based Learning Applied to "
            "Document Recognition, Proceedings of the IEEE 86(11), 1998"
        ),
        homepage="http://yann.lecun.com/exdb/mnist/",
    ),
    KnownSet(
        name="fashion-mnist",
        published=idx_files(
            "fashion-mnist",
            # The same bucket as the authors' website of it, which knows no https.
            "https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
            {
                "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
                "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
                "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
                "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
            },
            _FASHION_SHA256,
        ),
        read=partial(read_idx, classes=class_names.FASHION_MNIST),
        licence="MIT",
        citation=(
            "H. Xiao, K. Rasul and R. Vollgraf, Fashion-MNIST: a Novel Image Dataset for "
            "Benchmarking Machine Learning Algorithms, arXiv:1708.07747, 2017"
        ),
        homepage="https://github.com/zalandoresearch/fashion-mnist",
    ),
    KnownSet(
        name="cifar10",
        published=(_CIFAR10,),
        read=partial(read_cifar, classes=class_names.CIFAR10, labels=1, column=0),
        licence=_CIFAR_LICENCE,
        citation=_CIFAR_CITATION,
        homepage=_CIFAR_HOME,
    ),
    KnownSet(
        name="cifar10n",
        published=(_CIFAR10, _CIFAR10N_FILE),
        read=read_cifar10n,
        licence="CC BY-NC 4.0",
        citation=(
            "J. Wei, Z. Zhu, H. Cheng, T. Liu, G. Niu and Y. Liu, Learning with Noisy Labels "
            "Revisited: A Study Using Real-World Human Annotations, ICLR 2022"
        ),
        homepage="https://github.com/UCSC-REAL/cifar-10-100n",
    ),
    KnownSet(
        name="cifar100",
        published=(_CIFAR100,),
        read=partial(read_cifar, classes=class_names.CIFAR100, labels=2, column=1),
        licence=_CIFAR_LICENCE,
        citation=_CIFAR_CITATION,
        homepage=_CIFAR_HOME,
    ),
    KnownSet(
        name="cifar100-coarse",
        published=(_CIFAR100,),
        read=partial(read_cifar, classes=class_names.CIFAR100_COARSE, labels=2, column=0),
        licence=_CIFAR_LICENCE,
        citation=_CIFAR_CITATION,
        homepage=_CIFAR_HOME,
    ),
    KnownSet(
        name="food101",
        published=(
            Published(
                address="https://data.vision.ee.ethz.ch/cvl/food-101.tar.gz",
                file="food-101.tar.gz",
                folder="food-101",
                md5="85eeb15f3717b99a5da872d97d918f87",
                parts={"images": None, "meta": None},
            ),
        ),
        read=read_tree,
        licence="none stated; photographs from foodspotting.com, research use, with citation",
        citation=(
            "L. Bossard, M. Guillaumin and L. Van Gool, Food-101: Mining Discriminative "
            "Components with Random Forests, ECCV 2014"
        ),
        homepage="https://data.vision.ee.ethz.ch/cvl/datasets_extra/food-101/",
    ),
    KnownSet(
        name="synthetic-r20",
        published=(),
        read=_synthetic,
        licence="Apache-2.0, as dris itself",
        citation="the DR-IS paper, appendix Synthetic Study; means and labels are ours",
        homepage="",
    ),
)

KNOWN = {known.name: known for known in _SETS}
