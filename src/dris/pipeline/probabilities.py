"""Probabilities that somebody else's cross-validated model gives, in place of our proxies.

A row for each example and a column for each class: in memory, as .npy in the order of the data and
its classes, or as .csv or .parquet with columns named like the classes, and id where the rows are
in another order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.validate import alignment
from dris.data.files import listed, reading
from dris.data.labelled import INDEX_COLUMNS, LabelledData
from dris.data.tables.numpy_files import stored_npy
from dris.pipeline.ensemble import Ensemble, import_dynamics
from dris.pipeline.settings import DEFAULTS, Settings

MAX_SUM_ERROR = 1e-3  # how far from 1 a row's sum may be
ID = "id"


@dataclass(frozen=True, slots=True, eq=False)
class Probabilities:
    """Probabilities (N, C), and the names of rows and columns where they have any."""

    values: NDArray[np.float64]
    classes: tuple[str, ...] | None = None
    ids: NDArray[np.generic] | None = None


def read_probabilities(paths: Sequence[Path], classes: Sequence[str] = ()) -> Probabilities | None:
    """The probabilities in a file; None where it holds something else, such as losses.

    A CSV file whose columns are named like the `classes` holds them, however wrong its numbers are,
    and so does an array with a column for each.
    """
    path = paths[0]
    if len(paths) != 1 or not path.is_file() or path.suffix not in (".parquet", ".csv", ".npy"):
        return None
    if path.suffix == ".npy":
        values = stored_npy(path).whole()
        if not (values.ndim == 2 and values.shape[0] > values.shape[1] > 1):
            return None
        values = values.astype(np.float64)
        meant = values.shape[1] == len(classes)
        return Probabilities(values) if meant or _sum_to_one(values) else None
    with reading(path, "table of probabilities"):
        if path.suffix == ".parquet":
            from pyarrow.parquet import read_table

            return _of_table(read_table(path), path)
        from pyarrow import csv

        table = csv.read_csv(path)
        meant = bool(classes) and {*table.column_names} - {ID} == {*classes}
        try:
            held = _of_table(table, path)
        except InputError:
            if meant:
                raise
            return None  # words: the other reader says which
        return held if meant or _sum_to_one(held.values) else None


def as_probabilities(values: Any) -> Probabilities:
    """What is in memory: an array (N, C), or a frame whose columns are named like the classes."""
    if isinstance(values, Probabilities):
        return values
    columns = getattr(values, "columns", None)
    if columns is None:
        return Probabilities(np.asarray(values, dtype=np.float64))
    names = [str(name) for name in columns]
    ids = np.asarray(values[ID]) if ID in names else None
    kept = [name for name in columns if str(name) not in (ID, *INDEX_COLUMNS)]
    matrix = np.column_stack([np.asarray(values[name], dtype=np.float64) for name in kept])
    return Probabilities(matrix, tuple(map(str, kept)), ids)


def import_probabilities(
    data: LabelledData, values: Any, settings: Settings = DEFAULTS
) -> Ensemble:
    """The data as one model sees it that did not train on the rows it is asked about."""
    p = _align(data, as_probabilities(values))
    one = Dynamics.from_probabilities(p[None], data.labels, ids=data.ids)
    others = p.copy()
    np.put_along_axis(others, data.labels[:, None], -np.inf, axis=1)
    rival = others.argmax(axis=1).astype(np.int32)
    columns = {**one.columns, "rival": rival[None, None]}
    side = replace(one, columns=columns)
    ensemble = import_dynamics(data, replace(side, out_of_fold=side), settings)
    notes = [
        "one model's probabilities were imported: no limit and no rank variance; they tell "
        "something only of rows that it did not train on"
    ]
    right = float((p.argmax(axis=1) == data.labels).mean())
    if right < 1 / len(data.classes):
        notes.append(
            f"they predict {100 * right:.0f} % of the labels, fewer than by chance: are columns "
            f"in the order of the classes {listed(list(data.names))}?"
        )
    return replace(ensemble, notes=(*data.notes, *notes))


def _align(data: LabelledData, given: Probabilities) -> NDArray[np.float64]:
    """The matrix with rows and columns in the order of the data, or what is wrong with it."""
    p, n, classes = given.values, len(data), len(data.classes)
    aside = data.unlabelled
    if aside is not None and given.ids is None and p.ndim == 2 and len(p) == aside.total:
        p = p[data.rows]  # given for rows without a label as well
    if p.ndim != 2 or p.shape[0] != n or p.shape[1] != classes:
        raise InputError(
            f"probabilities must be {n} rows by {classes} classes, as the data, got {p.shape}"
        )
    if not np.isfinite(p).all() or not _sum_to_one(p):
        raise InputError(
            "probabilities must be finite, not negative and sum to 1 in every row; "
            "pass what predict_proba gives"
        )
    if given.classes is not None:
        known = {name: place for place, name in enumerate(data.names)}
        unknown = [name for name in given.classes if name not in known]
        if unknown:
            raise InputError(
                f"probabilities name the classes {listed(list(given.classes))}, the data has "
                f"{listed(list(data.names))}; name the columns like the labels"
            )
        p = p[:, np.argsort([known[name] for name in given.classes])]
    if given.ids is not None:
        order = alignment(np.asarray(given.ids).astype(data.ids.dtype), data.ids)
        if order is None:
            raise InputError(
                "the ids of the probabilities are not those of the data; "
                "name the data's column of the same ids with `id`"
            )
        p = p[order]
    if not (p.argmax(axis=1) == data.labels).any():
        raise InputError(
            "probabilities contradict every label; give columns in the order of the classes "
            f"{listed(list(data.names))}"
        )
    return p


def _of_table(table: Any, path: Path) -> Probabilities:
    names = [name for name in table.column_names if name not in (ID, *INDEX_COLUMNS)]
    try:
        columns = [table.column(name).to_numpy().astype(np.float64) for name in names]
    except (TypeError, ValueError):
        raise InputError(
            f"{path} must hold a column of numbers for each class, and maybe {ID}; its columns "
            f"are {listed(table.column_names)}"
        ) from None
    ids = table.column(ID).to_numpy() if ID in table.column_names else None
    return Probabilities(np.column_stack(columns), tuple(names), ids)


def _sum_to_one(p: NDArray[np.float64]) -> bool:
    return bool(p.size and p.min() >= 0 and np.abs(p.sum(axis=1) - 1).max() <= MAX_SUM_ERROR)
