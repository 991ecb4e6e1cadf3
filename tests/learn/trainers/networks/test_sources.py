"""Sources: exact normalisation, user data sets, crops and flips that are what they claim."""

import numpy as np
import pytest
from scipy import stats

from oracles_networks import crops_of, images, table

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from torch.utils.data import Dataset, TensorDataset  # noqa: E402

from dris.learn.trainers.networks.sources import (  # noqa: E402
    PADDING,
    DatasetSource,
    TensorSource,
    crop_and_flip,
    draw_crops,
    on_device,
)

CPU = torch.device("cpu")


def cropped(batch, seed):
    (crops,) = draw_crops([len(batch)], CPU, rng=np.random.default_rng(seed))
    return crop_and_flip(batch, crops)


def everything(source, n):
    return next(iter(source.batches([np.arange(n)]))).numpy()


def test_images_are_normalised_by_each_channels_mean_and_deviation():
    x, _ = images(n=50)
    x[:, 1] //= 3
    result = everything(TensorSource(x, CPU), 50)
    mean, std = (f(x.astype(np.float64), axis=(0, 2, 3)) for f in (np.mean, np.std))
    wanted = (x - mean[:, None, None]) / std[:, None, None]
    np.testing.assert_allclose(result, wanted, rtol=2e-6, atol=2e-6)
    assert result.dtype == np.float32


def test_tables_are_normalised_by_feature():
    x, _ = table()
    result = everything(TensorSource(x, CPU), 60)
    np.testing.assert_allclose(result, (x - x.mean(axis=0)) / x.std(axis=0), rtol=1e-6, atol=1e-6)


def test_a_feature_far_from_zero_keeps_its_digits():
    # Seconds since 1970 over one minute: in float32 they would all be one number.
    x = 1.7e9 + np.arange(60.0)[:, None]
    result = everything(TensorSource(x, CPU), 60)[:, 0]
    np.testing.assert_allclose(result, stats.zscore(np.arange(60.0)), rtol=1e-6)


@pytest.mark.parametrize("value", [0.1, 0.0, -3.3e7, 255])
def test_a_constant_feature_becomes_zero_and_not_magnified_rounding(value):
    x = np.random.default_rng(0).normal(size=(999, 2))
    x[:, 1] = value
    assert abs(everything(TensorSource(x, CPU), 999)[:, 1]).max() < 1e-6


def test_other_examples_are_prepared_with_the_training_datas_statistics():
    for x in (images()[0], table()[0]):
        source = TensorSource(x, CPU)
        np.testing.assert_array_equal(
            everything(source.like(x[5:8]), 3), everything(source, len(x))[5:8]
        )
        # The twin: statistics of their own would differ.
        assert not np.allclose(
            everything(TensorSource(x[5:8], CPU), 3), everything(source, len(x))[5:8]
        )


def test_the_callers_array_is_neither_changed_nor_shared():
    for x in (images()[0], table()[0], table()[0].astype(np.float32)):
        for normalize in (True, False):
            before = x.copy()
            source = TensorSource(x, CPU, normalize=normalize)
            values = everything(source, 3)
            np.testing.assert_array_equal(x, before)
            x[:] = 0
            np.testing.assert_array_equal(everything(source, 3), values)
            x[:] = before


def test_batches_are_gathers_in_the_order_asked_for():
    x, _ = images()
    source = TensorSource(x, CPU, normalize=False)
    orders = [np.array([3, 1]), np.array([39]), np.array([0, 0, 7])]
    for at, batch in zip(orders, source.batches(orders), strict=True):
        np.testing.assert_array_equal(batch.numpy(), x[at])


def test_image_batches_lie_channels_last_from_both_sources():
    x, _ = images()
    sources = TensorSource(x, CPU), DatasetSource(TensorDataset(torch.from_numpy(x)), CPU)
    for source in sources:
        batch = next(iter(source.batches([np.arange(4)])))
        assert batch.is_contiguous(memory_format=torch.channels_last)
        assert cropped(batch, 0).is_contiguous(memory_format=torch.channels_last)


class Items(Dataset):
    """Whatever each item is made of."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def test_items_may_be_arrays_tensors_or_pairs():
    x, y = table()
    kinds = [
        list(x),
        [torch.from_numpy(row) for row in x],
        [(row, label) for row, label in zip(x, y, strict=True)],
        [[torch.from_numpy(row), label] for row, label in zip(x, y, strict=True)],
    ]
    for items in kinds:
        source = DatasetSource(Items(items), CPU)
        assert len(source) == 60
        assert source.shape == (5,)
        np.testing.assert_array_equal(everything(source, 60), x.astype(np.float32))
        np.testing.assert_array_equal(
            everything(source.like(Items(items[:4])), 4), x[:4].astype("f")
        )


@pytest.mark.parametrize(("kind", "moved"), [(np.uint8, torch.uint8), (np.float64, torch.float32)])
def test_bytes_are_moved_as_bytes_and_all_else_in_single_precision(monkeypatch, kind, moved):
    real, seen = torch.Tensor.to, []

    def to(tensor, *how, **more):
        if how == (CPU,):
            seen.append((tensor.dtype, more))
        return real(tensor, *how, **more)

    monkeypatch.setattr(torch.Tensor, "to", to)
    x = images()[0].astype(kind)
    batch = everything(DatasetSource(Items(list(x)), CPU), 40)
    assert seen == [(moved, {"non_blocking": True})]
    np.testing.assert_array_equal(batch, x.astype(np.float32))


def test_every_crop_is_a_window_of_the_reflected_image_flipped_or_not_by_its_own_draw():
    x, _ = images(n=300, size=12)
    x = np.random.default_rng(1).permuted(np.arange(300 * 3 * 144) % 251).reshape(x.shape)
    out = cropped(torch.from_numpy(x.astype(np.float32)), 0).numpy()
    drawn = []
    for image, crop in zip(x, out, strict=True):
        fits = [at for at, window in crops_of(image, PADDING).items() if (window == crop).all()]
        assert len(fits) == 1
        drawn += fits
    assert len({d[:2] for d in drawn}) > 60  # of 81 places, by 300 images
    assert {d[2] for d in drawn} == {False, True}


def test_places_and_flips_are_drawn_uniformly_and_apart():
    # One image whose every pixel differs, 81 · 2 outcomes, 100 draws of each on average.
    n, border = 162 * 100, PADDING
    image = torch.arange(144.0).reshape(1, 1, 12, 12)
    out = cropped(image.expand(n, 1, 12, 12), 3).numpy()
    seen = {window.tobytes(): at for at, window in crops_of(image[0].numpy(), border).items()}
    counts = dict.fromkeys(seen.values(), 0)
    for crop in out:
        counts[seen[crop.tobytes()]] += 1
    assert len(counts) == 162
    # A right generator fails this in one seed of a million.
    assert stats.chisquare(list(counts.values())).pvalue > 1e-6
    # The twin: never the last row, as a `randint` off by one would have it.
    short = [c for (down, _, _), c in counts.items() if down < 2 * border]
    assert stats.chisquare([*short, *[1] * 18]).pvalue < 1e-6


def test_crops_and_positions_of_many_batches_are_those_of_one_after_the_other():
    sizes, rng = [3, 1, 4], np.random.default_rng(2)
    one_by_one = [draw_crops([n], CPU, rng=rng)[0] for n in sizes]
    together = draw_crops(sizes, CPU, rng=np.random.default_rng(2))
    assert all(torch.equal(a, b) for a, b in zip(one_by_one, together, strict=True))
    other = draw_crops(sizes[::-1], CPU, rng=np.random.default_rng(2))  # the twin: another order
    assert not torch.equal(torch.cat(together, 1), torch.cat(other, 1))
    batches = [np.arange(n) for n in sizes]
    assert [at.tolist() for at in on_device(batches, CPU)] == [at.tolist() for at in batches]
