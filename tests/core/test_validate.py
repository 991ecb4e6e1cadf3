"""The checks at the public door that no other test meets on its way."""

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.core.validate import check_labels


def test_labels_that_are_ids_are_sent_back_before_they_become_a_billion_classes():
    with pytest.raises(InputError, match=r"labels go up to 1000000000 with 2 examples.*np\.unique"):
        check_labels([0, 10**9])


def test_gaps_in_a_few_labels_are_fine():
    assert check_labels([0, 999]).tolist() == [0, 999]
    assert check_labels(np.array([3, 10**6]), classes=10**6 + 1).max() == 10**6


@pytest.mark.parametrize("labels", [[0, 1, np.nan], [0, None, 1], None])
def test_missing_labels_are_called_missing(labels):
    with pytest.raises(InputError, match=r"missing|None"):
        check_labels(labels)
