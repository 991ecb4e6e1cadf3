"""A label to consider for rows that have none."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dris.core.streams import rng_for
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.feature_table import as_features
from dris.learn.trainers.stacked.row_models import predict_after
from dris.pipeline.ensemble import scaling
from dris.pipeline.harm import HEADS

if TYPE_CHECKING:
    from dris.pipeline.decision import Decision

MAX_KEPT_ROWS = 20_000  # that are learned from
NONE = -1


def labels_to_consider(decision: "Decision") -> NDArray[np.int64]:
    """What models trained on the kept rows call those without a label, 0..C-1.

    -1 where a linear model and one with a hidden layer disagree, and where the data is pictures
    or too little to train on.
    """
    data, ensemble = decision.data, decision.ensemble
    aside = data.unlabelled
    if aside is None:
        return np.zeros(0, dtype=np.int64)
    nothing = np.full(len(aside), NONE, dtype=np.int64)
    if ensemble is None or ensemble.features is not None or ensemble.table.ndim != 2:
        return nothing
    kept = decision.kept
    if len(kept) > MAX_KEPT_ROWS:
        drawn = rng_for(ensemble.settings.seed, "unlabelled", "rows").permutation(len(kept))
        kept = np.sort(kept[drawn[:MAX_KEPT_ROWS]])
    own = ensemble.table[kept]
    x = np.concatenate((own, aside.x.reshape(len(aside), -1)))
    y = np.concatenate((decision.labels[kept], np.zeros(len(aside), dtype=np.int64)))
    table = as_features(Data(x, y), scaling(data)).x
    every = [
        predict_after(table, y, len(data.classes), [np.arange(len(own))], head=head)[0, len(own) :]
        for head in HEADS.values()
    ]
    alike = np.all([guess == every[0] for guess in every], axis=0)
    return np.where(alike, every[0], NONE)
