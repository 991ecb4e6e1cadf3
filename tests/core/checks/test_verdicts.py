"""The review queue, and reading a review back."""

import numpy as np
import pytest

from dris.core.checks.verdicts import Review, apply_review, review_queue
from dris.core.errors import InputError


def test_the_lowest_scores_come_first_with_the_label_the_proxies_would_give():
    queue = review_queue([0.5, -2.0, 0.1, 3.0], [0, 1, 2, 0], [1, 2, 0, 0], 3)
    assert queue.positions.tolist() == [1, 2, 0]
    assert queue.given.tolist() == [1, 2, 0]
    assert queue.suggested.tolist() == [2, 0, 1]
    assert len(queue) == 3
    assert queue == review_queue([0.5, -2.0, 0.1, 3.0], [0, 1, 2, 0], [1, 2, 0, 0], 3)
    with pytest.raises(ValueError, match="read-only"):
        queue.positions[0] = 5


def test_what_is_trusted_or_planted_is_not_queued_and_few_may_be_left():
    skip = np.array([False, True, False, True])
    assert review_queue([4, 1, 3, 2], [0] * 4, [1] * 4, 4, skip=skip).positions.tolist() == [2, 0]


def test_which_of_equal_scores_is_queued_depends_on_the_seed_and_not_on_its_place():
    chosen = {
        tuple(sorted(review_queue(np.ones(20), [0] * 20, [1] * 20, 3, seed=s).positions.tolist()))
        for s in range(5)
    }
    assert len(chosen) > 1


def test_right_and_corrected_labels_become_trusted_and_wrong_ones_without_a_label_known_wrong():
    review = Review(
        np.array(["b", "d", "a", "e"]),
        ("wrong", "right", "unsure", "wrong"),
        np.array([2, -1, -1, -1]),
    )
    done = apply_review([0, 0, 1, 1, 2], review, ids=["a", "b", "c", "d", "e"], classes=3)
    assert done.labels.tolist() == [0, 2, 1, 1, 2]
    assert done.trusted.tolist() == [False, True, False, True, False]
    assert done.known_wrong.tolist() == [False, False, False, False, True]
    assert review.wrong == 2


def test_applying_a_review_twice_changes_nothing_more_and_leaves_the_input_alone():
    labels = np.array([0, 1, 0])
    review = Review(np.array([2]), ("wrong",), np.array([1]))
    once = apply_review(labels, review)
    assert apply_review(once.labels, review) == once
    assert labels.tolist() == [0, 1, 0]
    assert review == Review(np.array([2]), ("wrong",), np.array([1]))


def test_an_empty_review_is_a_review():
    done = apply_review([0, 1], Review(np.zeros(0, np.int64), (), np.zeros(0, np.int64)))
    assert not done.trusted.any()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Review(np.array([0]), ("maybe",), np.array([-1])), "must be one of right"),
        (lambda: Review(np.array([0]), ("right",), np.array([1])), "only a wrong label"),
        (lambda: Review(np.array([0]), ("wrong",), np.array([-2])), "only a wrong label"),
        (lambda: Review(np.array([0, 0]), ("right",) * 2, np.array([-1, -1])), "unique"),
        (lambda: Review(np.array([0]), ("wrong",), np.array([0.5])), "whole number"),
        (
            lambda: apply_review([0, 1], Review(np.array([7]), ("right",), np.array([-1]))),
            "unknown id 7",
        ),
        (
            lambda: apply_review(
                [0, 1], Review(np.array([0]), ("wrong",), np.array([5])), classes=2
            ),
            "below classes = 2",
        ),
        (lambda: review_queue([1.0, 2.0], [0, 1], [0], 1), "one per example"),
        (lambda: review_queue([1.0, 2.0], [0, 1], [0, 1], 0), "at least 1"),
        (lambda: review_queue([1.0, 2.0], [0, 1], [0, 1], 1, skip=[0, 1]), "boolean mask"),
    ],
)
def test_bad_input_is_one_sentence(call, says):
    with pytest.raises(InputError, match=says):
        call()


def test_a_correction_is_one_of_the_classes():
    review = Review(np.array([0]), ("wrong",), np.array([2]))
    assert apply_review([0, 1], review, classes=3).labels.tolist() == [2, 1]
    with pytest.raises(InputError, match="must be below classes = 2, got 2"):
        apply_review([0, 1], review, classes=2)
    nothing = Review(np.array([], dtype=int), (), np.array([], dtype=int))
    assert apply_review([0, 1], nothing, classes=2).labels.tolist() == [0, 1]
