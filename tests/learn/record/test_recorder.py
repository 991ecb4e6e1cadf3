import json
import math
import tracemalloc
from collections.abc import Iterator
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dris.core.dynamics.columns import margins_of, trajectories_of
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import SCORES
from dris.learn.record.recorder import Recorder
from oracles_recorder import forgotten, last_layer_gradient, thoughts

COLUMNS = ("loss", "margin", "correct", "error_norm")


def made_up(n: int = 40, epochs: int = 4, classes: int = 3, dtype: Any = np.float32, seed: int = 0):
    """Logits (E, N, C) and labels (N,)."""
    rng = np.random.default_rng(seed)
    z = rng.normal(scale=3, size=(epochs, n, classes)).astype(dtype)
    return z, rng.integers(classes, size=n)


def batches(n: int, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    order = rng.permutation(n)
    for start in range(0, n, size):
        yield order[start : start + size]


def fed(recorder: Recorder, z: np.ndarray, y: np.ndarray, size: int = 7, seed: int = 1) -> Recorder:
    """The recorder after every epoch of z, in shuffled batches, snapshot where it is due."""
    rng = np.random.default_rng(seed)
    for logits in z:
        for b in batches(len(y), size, rng):
            recorder.update(recorder.ids[b], logits[b], y[b])
        if recorder.record == "scored" and recorder.epoch == recorder.scored_epoch:
            for b in batches(len(y), size, rng):
                recorder.snapshot(recorder.ids[b], logits[b], y[b])
        recorder.end_epoch()
    return recorder


def assert_same(a: Dynamics, b: Dynamics) -> None:
    """Equal to the last bit, types included."""
    assert (a.epochs, a.scored_epoch, a.is_summary) == (b.epochs, b.scored_epoch, b.is_summary)
    assert list(a.columns) == list(b.columns)
    pairs = [(a.columns[n], b.columns[n]) for n in a.columns]
    pairs += [(a.ids, b.ids), (a.labels, b.labels)]
    x, y = a.totals(), b.totals()
    assert x.epochs == y.epochs
    pairs += [(x.margin, y.margin), (x.forgotten, y.forgotten), (x.learned, y.learned)]
    for one, other in pairs:
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()


def test_two_examples_worked_by_hand():
    recorder = Recorder(2)
    recorder.update([1, 0], [[0.0, 3.0], [1.0, 1.0]], [0, 1])
    recorder.end_epoch()
    recorder.update([0], [[0.0, 2.0]], [1])
    recorder.update([1], [[1.0, 0.0]], [0])
    recorder.end_epoch()
    d = recorder.dynamics()
    assert d.margin.tolist() == [[[0.0, -3.0], [2.0, 1.0]]]
    assert d.correct.tolist() == [[[False, False], [True, True]]]
    assert d.loss[0, 0, 0] == pytest.approx(math.log(2))
    assert d.labels.tolist() == [1, 0]
    assert (d.proxies, d.epochs, d.scored_epoch) == (1, (1, 2), 1)


def test_columns_and_totals_agree_with_one_example_at_a_time():
    z, y = made_up(dtype=np.float64)
    d = fed(Recorder(len(y)), z, y).dynamics()
    for i, label in enumerate(y):
        told = [thoughts(z[e, i].tolist(), int(label)) for e in range(len(z))]
        for name in COLUMNS:
            assert d.column(name)[0, :, i] == pytest.approx([t[name] for t in told], rel=1e-12)
        totals = d.totals()
        assert totals.margin[0, i] == pytest.approx(sum(t["margin"] for t in told), rel=1e-12)
        assert totals.forgotten[0, i] == forgotten([bool(t["correct"]) for t in told])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 3, 10, 33])
@pytest.mark.parametrize("size", [1, 7, 40])
def test_every_order_and_batch_size_gives_the_dynamics_of_the_whole(dtype, classes, size):
    z, y = made_up(classes=classes, dtype=dtype)
    d = fed(Recorder(len(y)), z, y, size).dynamics()
    assert_same(d, Dynamics.from_logits(z[None], y))


def test_a_batch_wider_than_the_queue_is_worked_out_in_parts(monkeypatch):
    monkeypatch.setattr("dris.learn.record.batches._WAITING", 20)
    z, y = made_up()
    for size in (1, 5, 6, 7, 40):
        assert_same(fed(Recorder(len(y)), z, y, size).dynamics(), Dynamics.from_logits(z[None], y))


@given(
    n=st.integers(1, 12),
    epochs=st.integers(1, 4),
    size=st.integers(1, 12),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_a_recorded_summary_is_the_summary_of_the_dynamics_to_the_last_bit(
    n, epochs, size, seed, data
):
    scored = data.draw(st.integers(1, epochs))
    z, y = made_up(n, epochs, seed=seed)
    whole = Dynamics.from_logits(z[None], y, scored_epoch=scored)
    both = [
        fed(Recorder(n, record=record, scored_epoch=scored), z, y, size, seed).dynamics()
        for record in ("all", "scored")
    ]
    assert_same(both[0], whole)
    assert_same(both[0].summary(), whole.summary())
    assert_same(both[1], whole.summary())


def test_the_comparison_sees_a_single_changed_logit_of_an_epoch_not_kept():
    z, y = made_up()
    recorded = fed(Recorder(len(y), record="scored", scored_epoch=2), z, y).dynamics()
    z[3, 5, y[5]] += 1e-4
    with pytest.raises(AssertionError):
        assert_same(recorded, Dynamics.from_logits(z[None], y, scored_epoch=2).summary())


@pytest.mark.parametrize("record", ["all", "scored"])
def test_recorder_and_dynamics_handed_out_do_not_share_memory(record):
    z, y = made_up()
    recorder = fed(Recorder(len(y), record=record, scored_epoch=1), z[:2], y)
    early = recorder.dynamics()
    fed(recorder, z[2:], y)
    handed_out = recorder.dynamics()
    for values in (*handed_out.columns.values(), handed_out.totals().margin, handed_out.labels):
        values[:] = 0
    for dynamics, logits in ((early, z[:2]), (recorder.dynamics(), z)):
        expected = Dynamics.from_logits(logits[None], y, scored_epoch=1)
        assert_same(dynamics, expected if record == "all" else expected.summary())


@pytest.mark.parametrize("record", ["all", "scored"])
def test_gradient_norm_is_that_of_the_gradient_written_out(record):
    rng = np.random.default_rng(3)
    z, y = rng.normal(size=(6, 3)), rng.integers(3, size=6)
    phi = rng.normal(size=(6, 4)).astype(np.float32)
    recorder = Recorder(6, record=record, scored_epoch=1, gradient_norm=True)
    if record == "scored":
        recorder.update(range(6), z, y)
        recorder.snapshot(range(6), z, y, features=phi)
    else:
        recorder.update(range(6), z, y, features=phi)
    recorder.end_epoch()
    norms = recorder.dynamics().snapshot("gradient_norm")[0]
    for i in range(6):
        written_out = last_layer_gradient(z[i].tolist(), int(y[i]), phi[i].tolist())
        assert norms[i] == pytest.approx(math.hypot(*written_out), rel=1e-9)


@pytest.mark.parametrize("precision", ["float16", "bfloat16", "float32", "float64"])
def test_tensors_with_gradients_in_any_precision(precision):
    torch = pytest.importorskip("torch", reason="torch is an optional extra")
    z, y = made_up(epochs=1)
    logits = torch.tensor(z[0], dtype=getattr(torch, precision), requires_grad=True)
    recorder = Recorder(len(y))
    recorder.update(torch.arange(len(y)), logits, torch.tensor(y))
    recorder.end_epoch()
    kept = torch.float64 if precision == "float64" else torch.float32
    assert_same(
        recorder.dynamics(), Dynamics.from_logits(logits.detach().to(kept).numpy()[None], y)
    )


class OnDevice:
    """A tensor that NumPy cannot see before it has come to the CPU, as on CUDA."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def detach(self) -> "OnDevice":
        return self

    def numpy(self, *, force: bool = False) -> np.ndarray:
        if not force:  # force is torch's word for detach().cpu()
            raise RuntimeError("can't convert a device tensor that requires grad to numpy")
        return self.values


def test_tensors_on_a_device_are_fetched():
    z, y = made_up(epochs=1)
    recorder = Recorder(len(y))
    recorder.update(OnDevice(np.arange(len(y))), OnDevice(z[0]), OnDevice(y))
    recorder.end_epoch()
    assert_same(recorder.dynamics(), Dynamics.from_logits(z, y))
    with pytest.raises(RuntimeError):
        OnDevice(z[0]).numpy()


@pytest.mark.gpu
def test_cuda_tensors_are_recorded():
    torch = pytest.importorskip("torch", reason="torch is an optional extra")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    z, y = made_up(epochs=1)
    recorder = Recorder(len(y))
    logits = torch.tensor(z[0], device="cuda").to(torch.bfloat16)
    recorder.update(torch.arange(len(y), device="cuda"), logits, torch.tensor(y, device="cuda"))
    recorder.end_epoch()
    expected = Dynamics.from_logits(logits.float().cpu().numpy()[None], y)
    assert_same(recorder.dynamics(), expected)


@pytest.mark.parametrize(
    "ids",
    [
        [10, -3, 7, 2**62],
        ["img_9", "b", "img_10", "ü"],
        np.array(["x", "yy", "z", "w"], dtype=object),
        [3, 1, 0, 2],
    ],
    ids=["numbers", "text", "objects", "shuffled"],
)
def test_any_ids_find_their_place(ids):
    z, y = made_up(n=4)
    d = fed(Recorder(ids), z, y, size=3).dynamics()
    assert_same(d, Dynamics.from_logits(z[None], y, ids=ids))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"ids": 0}, "number of examples must be at least 1"),
        ({"ids": [1, 1]}, "ids must be unique, 1"),
        ({"ids": 2, "record": "some"}, "record must be one of all, scored"),
        ({"ids": 2, "record": "scored"}, "needs scored_epoch="),
        ({"ids": 2, "scored_epoch": 0}, "scored_epoch must be at least 1"),
        ({"ids": 2, "labels": [0]}, "2 examples, 1 labels"),
    ],
)
def test_a_recorder_is_made_from_sound_arguments(arguments, named):
    with pytest.raises(InputError, match=named):
        Recorder(**arguments)


@pytest.mark.parametrize(
    ("batch", "named"),
    [
        (([0], [1.0, 2.0], [0]), "got shapes"),
        (([0], [[1.0]], [0]), "two classes or more"),
        ((np.uint64([2**64 - 1]), [[1.0, 2.0]], [0]), "unknown id 18446744073709551615"),
        (([0], [[1.0, 2.0]], np.uint64([2**64 - 1])), "got 18446744073709551615"),
        (([0], [["a", "b"]], [0]), "logits must be numbers"),
        (([0], [[1.0, 2.0]], [2]), "below classes = 2, got 2"),
        (([0, 1], [[1.0, 2.0], [math.nan, 0]], [0, 0]), "those of id 1 are not in epoch 1"),
        (([0, 1], [[1.0, math.inf], [1.0, 0]], [0, 0]), "those of id 0 are not in epoch 1"),
        (([0], [[1e308, -1e308]], [0]), "apart in epoch 1"),
        (([1, 2, 1], np.zeros((3, 2)), [0, 0, 0]), "id 1 came twice in epoch 1"),
        (([2], [[1.0, 2.0]], [0], [[1.0]]), "records no features"),
    ],
)
def test_a_bad_batch_is_refused_and_leaves_no_trace(batch, named):
    recorder = Recorder(3)
    before = json.dumps(recorder.state_dict(), default=np.ndarray.tolist)
    with pytest.raises(InputError, match=named):
        recorder.update(*batch)
    assert json.dumps(recorder.state_dict(), default=np.ndarray.tolist) == before
    recorder.update([0, 1, 2], np.zeros((3, 2)), [0, 1, 0])
    recorder.end_epoch()


@pytest.mark.parametrize(
    ("features", "named"),
    [
        (None, "update needs features="),
        ([[1.0]], "one row for each of 2"),
        ([["a"], ["b"]], "features must be numbers"),
        ([[1.0], [math.nan]], "those of id 1 are not in epoch 1"),
    ],
)
def test_features_must_fit(features, named):
    with pytest.raises(InputError, match=named):
        Recorder(2, gradient_norm=True).update([0, 1], np.zeros((2, 2)), [0, 1], features)


def test_an_id_twice_in_one_epoch_is_refused_across_batches_and_fine_in_the_next():
    recorder = Recorder(["a", "b"])
    recorder.update(["a", "b"], np.zeros((2, 2)), [0, 1])
    with pytest.raises(InputError, match="id b came twice in epoch 1; close each epoch"):
        recorder.update(["b"], np.zeros((1, 2)), [1])
    recorder.end_epoch()
    recorder.update(["b"], np.zeros((1, 2)), [1])


@pytest.mark.parametrize("known", [True, False])
def test_targets_that_change_are_refused(known):
    recorder = Recorder(3, labels=[0, 1, 2] if known else None)
    if not known:
        recorder.update([0, 1, 2], np.zeros((3, 3)), [0, 1, 2])
        recorder.end_epoch()
    with pytest.raises(InputError, match="the target of id 1 was 1 and is 2"):
        recorder.update([2, 1], np.zeros((2, 3)), [2, 2])
    recorder.update([2, 1], np.zeros((2, 3)), [2, 1])


def test_logits_that_do_not_fit_the_labels_or_change_their_format_are_refused():
    with pytest.raises(InputError, match="labels go up to 2"):
        Recorder(3, labels=[0, 1, 2]).update([0], np.zeros((1, 2)), [0])
    recorder = Recorder(3)
    recorder.update([0], np.zeros((1, 3), dtype=np.float32), [0])
    for other in (np.zeros((1, 4), dtype=np.float32), np.zeros((1, 3))):
        with pytest.raises(InputError, match="one recorder follows one model"):
            recorder.update([1], other, [0])
    recorder.update([1], np.zeros((1, 3), dtype=np.float16), [0])


def test_missing_ids_are_counted_named_and_can_still_come():
    recorder = Recorder(10)
    recorder.update([3, 1], np.zeros((2, 2)), [0, 0])
    with pytest.raises(InputError, match=r"epoch 1 missed 8 of 10 ids: 0, 2, 4, 5, 6, …; "):
        recorder.end_epoch()
    assert recorder.epoch == 1
    rest = recorder.missing()
    assert rest.tolist() == [0, 2, 4, 5, 6, 7, 8, 9]
    recorder.update(rest, np.zeros((8, 2)), [0] * 8)
    recorder.end_epoch()
    assert recorder.epoch == 2


def test_snapshots_belong_to_the_scored_epoch():
    batch = ([0], np.zeros((1, 2)), [0])
    with pytest.raises(InputError, match='this is epoch 1 of record="all", use update'):
        Recorder(1, scored_epoch=1).snapshot(*batch)
    with pytest.raises(InputError, match='belongs to epoch 2 of record="scored"; this is epoch 1'):
        Recorder(1, record="scored", scored_epoch=2).snapshot(*batch)


def test_dynamics_wait_for_what_they_need():
    batch = ([0], np.zeros((1, 2)), [0])
    recorder = Recorder(1, scored_epoch=2)
    with pytest.raises(InputError, match="nothing recorded yet"):
        recorder.dynamics()
    with pytest.raises(InputError, match="epoch 1 has no update"):
        recorder.end_epoch()
    recorder.update(*batch)
    recorder.end_epoch()
    with pytest.raises(InputError, match="scored_epoch 2 was not recorded"):
        recorder.dynamics()
    summing = Recorder(1, record="scored", scored_epoch=2)
    summing.update(*batch)
    summing.end_epoch()
    with pytest.raises(InputError, match="epoch 2, the scored one, is not closed yet"):
        summing.dynamics()
    summing.update(*batch)
    summing.snapshot(*batch)
    with pytest.raises(InputError, match="is not closed yet: this is epoch 2"):
        summing.dynamics()
    summing.end_epoch()
    assert summing.dynamics().scored_epoch == 2
    part = Recorder(2)
    part.update(*batch)
    part.end_epoch(allow_missing=True)
    with pytest.raises(InputError, match="epoch 1 missed 1 of 2 ids: 1; "):
        part.dynamics()


def through_json(state: dict[str, Any]) -> dict[str, Any]:
    """The state with its plain values written and read as JSON, its arrays as bytes."""
    plain = {k: v for k, v in state.items() if not isinstance(v, np.ndarray)}
    arrays = {
        k: np.frombuffer(v.tobytes(), dtype=v.dtype).reshape(v.shape)
        for k, v in state.items()
        if isinstance(v, np.ndarray)
    }
    return json.loads(json.dumps(plain)) | arrays


@pytest.mark.parametrize("record", ["all", "scored"])
@pytest.mark.parametrize("ids", [12, [f"id{i}" for i in range(12)]], ids=["range", "text"])
def test_resuming_after_any_batch_changes_nothing(record, ids):
    z, y = made_up(n=12, epochs=3)
    arguments = {"ids": ids, "record": record, "scored_epoch": 2}
    expected = fed(Recorder(**arguments), z, y).dynamics()
    recorder = Recorder(**arguments)
    for logits in z:
        for call in ("update", "snapshot"):
            if call == "snapshot" and (record == "all" or recorder.epoch != 2):
                continue
            for b in batches(12, 5, np.random.default_rng(0)):
                getattr(recorder, call)(recorder.ids[b], logits[b], y[b])
                state = through_json(recorder.state_dict())
                recorder = Recorder(**arguments)
                recorder.load_state_dict(state)
        recorder.end_epoch()
    assert_same(recorder.dynamics(), expected)


def test_a_state_keeps_still_while_recording_goes_on():
    z, y = made_up()
    recorder = fed(Recorder(len(y), record="scored", scored_epoch=1), z[:2], y)
    state = recorder.state_dict()
    fed(recorder, z[2:], y)
    resumed = Recorder(len(y), record="scored", scored_epoch=1)
    resumed.load_state_dict(state)
    fed(resumed, z[2:], y)
    assert_same(resumed.dynamics(), recorder.dynamics())


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"ids": 3}, "other ids"),
        ({"ids": ["0", "1"]}, "other ids"),
        ({"ids": 2, "record": "scored", "scored_epoch": 1}, "other record"),
        ({"ids": 2, "scored_epoch": 3}, "other scored_epoch"),
        ({"ids": 2, "gradient_norm": True}, "other gradient_norm"),
        ({"ids": 2, "labels": [1, 0]}, "the target of id 0 is 1 here and 0 there"),
    ],
)
def test_a_state_of_another_recorder_is_refused(arguments, named):
    recorder = Recorder(2)
    recorder.update([0], [[1.0, 2.0]], [0])
    with pytest.raises(InputError, match=named):
        Recorder(**arguments).load_state_dict(recorder.state_dict())


@pytest.mark.parametrize("key", ["format", "epoch", "labels", "classes", "open/margin"])
def test_a_state_that_is_not_whole_is_refused(key):
    recorder = Recorder(2)
    recorder.update([0], [[1.0, 2.0]], [0])
    state = recorder.state_dict()
    del state[key]
    with pytest.raises(InputError, match=f"{key}|margin"):
        Recorder(2).load_state_dict(state)


def ranks(record: str, z: np.ndarray, y: np.ndarray, how: str, world: int = 3) -> list[Recorder]:
    """Recorders that share each epoch's examples anew, padded so that all get equally many."""
    rng, n = np.random.default_rng(5), len(y)
    group = [Recorder(n, record=record, scored_epoch=2) for _ in range(world)]
    for e, logits in enumerate(z, 1):
        order = rng.permutation(n)
        order = np.concatenate([order, order[: -n % world]])
        for rank, recorder in enumerate(group):
            mine = order[rank::world]
            recorder.update(mine, logits[mine], y[mine])
            if record == "scored" and e == 2:
                recorder.snapshot(mine, logits[mine], y[mine])
        if how == "every epoch":
            states = [recorder.state_dict() for recorder in group]
            for recorder in group:
                recorder.merge(states)
        for recorder in group:
            recorder.end_epoch(allow_missing=how == "at the end")
    if how == "at the end":
        group[0].merge(group[1:])
        group = group[:1]
    return group


@pytest.mark.parametrize("record", ["all", "scored"])
@pytest.mark.parametrize("how", ["every epoch", "at the end"])
def test_ranks_merge_into_what_one_recorder_would_have_seen(record, how):
    z, y = made_up(n=10)
    expected = fed(Recorder(10, record=record, scored_epoch=2), z, y).dynamics()
    for recorder in ranks(record, z, y, how):
        assert_same(recorder.dynamics(), expected)
        assert recorder.missing().tolist() == list(range(10))
        assert fed(recorder, z, y).dynamics().totals().epochs == 8  # and it goes on


def parts_of_two() -> tuple[Recorder, Recorder]:
    one, two = Recorder(2), Recorder(2)
    one.update([0, 1], [[1.0, 0.0], [2.0, 0.0]], [0, 1])
    return one, two


@pytest.mark.parametrize(
    ("batch", "named"),
    [
        (([1], [[2.5, 0.0]], [1]), "recorder 1 .* in epoch 1 its values for id 1 differ"),
        (([1], [[2.0, 0.0]], [0]), "the target of id 1 is 1 here and 0 there"),
        (([1], [[2.0, 0.0, 0.0]], [1]), "float64 of 3 classes"),
        (([1], np.zeros((1, 2), dtype=np.float32), [1]), "float32 of 2 classes"),
    ],
)
def test_recorders_that_disagree_do_not_merge(batch, named):
    one, two = parts_of_two()
    two.update(*batch)
    before = one.state_dict()
    with pytest.raises(InputError, match=named):
        one.merge([two])
    after = one.state_dict()
    assert all(np.array_equal(before[k], after[k]) for k in before)


def test_identical_duplicates_merge_and_so_does_a_recorder_that_saw_nothing():
    one, two = parts_of_two()
    one.merge([two, one])
    two.merge([one])
    for recorder in (one, two):
        recorder.end_epoch()
        assert recorder.dynamics().margin.tolist() == [[[1.0, -2.0]]]


def test_recorders_of_different_epochs_or_examples_do_not_merge():
    one, two = parts_of_two()
    two.update([0, 1], np.zeros((2, 2)), [0, 1])
    two.end_epoch()
    with pytest.raises(InputError, match="it is in epoch 2, this one in epoch 1"):
        one.merge([two])
    with pytest.raises(InputError, match="other ids"):
        one.merge([Recorder(3)])


@pytest.mark.parametrize("size", [2, 16, 50])
@pytest.mark.parametrize("record", ["all", "scored"])
def test_the_aum_package_agrees_on_the_same_logits(size, record, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is an optional extra")
    package = pytest.importorskip("aum", reason="the AUM authors' package is not installed")
    z, y = made_up(n=50, epochs=5, classes=10)
    calculator = package.AUMCalculator(str(tmp_path))
    recorder = Recorder(50, record=record, scored_epoch=5)
    rng = np.random.default_rng(2)
    for logits in z:
        for b in batches(50, size, rng):
            calculator.update(torch.tensor(logits[b]), torch.tensor(y[b]), b.tolist())
            recorder.update(b, torch.tensor(logits[b]), torch.tensor(y[b]))
        if record == "scored" and recorder.epoch == 5:
            recorder.snapshot(np.arange(50), logits, y)
        recorder.end_epoch()
    theirs = np.array([calculator.sums[i] / calculator.counts[i] for i in range(50)])
    assert SCORES["aum"](recorder.dynamics()) == pytest.approx(theirs, rel=1e-6, abs=1e-6)
    assert SCORES["aum"](recorder.dynamics()) != pytest.approx(theirs[::-1], rel=1e-6, abs=1e-6)


@given(st.integers(1, 6), st.integers(2, 5), st.sampled_from([np.float32, np.float64]), st.data())
@settings(max_examples=150, deadline=None)
def test_margins_alone_are_those_of_the_trajectories_to_the_last_bit(n, classes, dtype, data):
    width = 8 * np.dtype(dtype).itemsize
    number = st.sampled_from([0.0, -0.0, 1.0, 1.0, 1e-40, 3e37]) | st.floats(
        -(2.0**120), 2.0**120, width=width
    )
    z = np.array(
        data.draw(st.lists(number, min_size=n * classes, max_size=n * classes)), dtype=dtype
    ).reshape(n, classes)
    y = np.array(data.draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n)))
    whole, short = trajectories_of(z, y), margins_of(z, y)
    for name, column in short.items():
        assert column.dtype == whole[name].dtype
        assert column.tobytes() == whole[name].tobytes()
    assert whole["correct"].tolist() == (z.argmax(axis=1) == y).tolist()


@pytest.mark.parametrize("gap", [0.0, 1e-9, 0.3, 5.0, 40.0, 700.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_tiny_and_huge_losses_keep_their_digits(gap, sign):
    z = [0.25 + sign * gap, 0.25, -0.5]
    result = trajectories_of(np.array([z]), np.array([0]))["loss"][0]
    with localcontext() as exact:
        exact.prec = 400
        a, *rest = (Decimal(v) for v in z)
        told = (1 + sum((v - a).exp() for v in rest)).ln()
    assert abs(Decimal(float(result)) - told) <= Decimal("4e-16") * told
    plain = np.log(np.exp(np.array(z) - max(z)).sum()) + max(z) - z[0]
    if sign * gap == 40:  # the check can fail: the textbook form has lost every digit here
        assert abs(Decimal(float(plain)) - told) > Decimal("0.1") * told


@pytest.mark.parametrize(
    "change",
    [np.asfortranarray, lambda z: np.repeat(z, 2, axis=0)[::2], lambda z: z[:, ::-1][:, ::-1]],
    ids=["columns first", "every second row", "reversed twice"],
)
def test_logits_lie_in_memory_as_they_like_and_may_be_reused(change):
    z, y = made_up(epochs=1)
    recorder = Recorder(len(y))
    buffer = change(z[0].copy())
    recorder.update([], buffer[:0], [])
    recorder.update(np.arange(len(y)), buffer, y)
    buffer[:] = 0
    recorder.end_epoch()
    assert_same(recorder.dynamics(), Dynamics.from_logits(z, y))


def test_one_large_update_needs_a_few_megabytes():
    z, y = np.zeros((20_000, 100), dtype=np.float32), np.zeros(20_000, dtype=np.int64)
    recorder = Recorder(len(y))
    tracemalloc.start()
    try:
        recorder.update(np.arange(len(y)), z, y)
        recorder.end_epoch()
        peak = tracemalloc.get_traced_memory()[1]
        trajectories_of(z, y)
        at_once = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5e6 < at_once
