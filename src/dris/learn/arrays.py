"""Whatever holds numbers, as a NumPy array: tensors are known by what they can do, not by type."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_array(values: Any) -> NDArray[Any]:
    """Tensors (of any device or precision, with gradients or not), lists and arrays as an array.

    NumPy has no bfloat16: such a tensor comes back as float32, which holds it exactly. The
    array may share memory with what was passed.

    >>> as_array([[1, 2]]).tolist()
    [[1, 2]]
    """
    if not hasattr(values, "detach"):
        return np.asarray(values)
    array: NDArray[Any]
    try:
        array = values.numpy(force=True)
    except TypeError:  # torch's words for a number format that NumPy lacks
        array = values.float().numpy(force=True)
    return array
