"""What the experiments need of `dris` beyond its public names, and why.

No other module of `experiments` imports from inside `dris`, save `dris_torch`, which holds what
needs torch: a rename in the library is mended here. A test holds it.
"""
# ruff: noqa: I001  # by reason, not by name

# The paper's measures of an ensemble, and what the product's checks and limits say of it.
from dris.core.certify.limits import data_limits, subset_limits
from dris.core.certify.limits import widest
from dris.core.checks.assumption_checks import (
    auroc,
)
from dris.core.checks.judgement import judge
from dris.core.dynamics.dynamics import best_epoch
from dris.core.dynamics.columns import TRAJECTORIES
from dris.core.noise.assessment import assess
from dris.core.scores.formulas import rank_variance as rank_variance_of

# Noise whose truth is known, and the canaries that gated rules need.
from dris.core.noise.canaries import Canaries, without_canaries
from dris.core.noise.flips import NoisyLabels

# Rules by name, gates and choosers that studies vary, and draws: tables compare them one by one.
from dris.core.select.importance import draw
from dris.core.select.gate import CHOOSERS, DETECTORS, NothingPassesError, canaries_needed
from dris.core.select.importance import Importance
from dris.core.select.rules import RECOMMENDED, choose
from dris.core.subset import Subset

# Named random streams and the library's own input checks: an experiment draws and fails as it does.
from dris.core.streams import hashed_order, rng_for, seed_for
from dris.core.validate import check_count, check_mask, check_score, count_of, exact, part_of

# Files: records are written whole or not at all, and never over somebody else's.
from dris.core.files import make_folder, remove_left, temporary_folder, write_atomically
from dris.core.errors import suggest_name
from dris.core.sanitize import from_json, printable
from dris.data.files import reading
from dris.data.writer import MANIFEST, OWN, Writer, place_new

# Pictures and columns as the library reads them.
from dris.data.images.image_files import decode_image
from dris.data.labelled import Feature

# The paper's recipes, and the attacker.
from dris.learn.attack import attacker_norms
from dris.learn.recipe import Recipe, cosine

# Cells on many processes, machines and GPUs, each killed and resumed.
from dris.learn.engines.processes import bar
from dris.learn.engines.tasks import Engine, as_engine, devices_of
from dris.learn.engines.processes import Progress, keep_freed_memory
from dris.learn.engines.tasks import connect
from dris.learn.engines.tasks import run_all
from dris.learn.store.locks import folder_lock
from dris.learn.store.run_store import fingerprint
from dris.learn.store.locks import make_scratch, scratch

# Models by name, and one in training: a target is trained, kept and resumed as a proxy is.
from dris.core.dynamics.columns import labels_for, trajectories_of
from dris.core.scores.formulas import loss
from dris.core.scores.ranks import doubled_ranks
from dris.core.select.importance import proportional
from dris.core.streams import check_seed
from dris.core.validate import check_labels
from dris.learn.jobs.kept_jobs import key_of
from dris.learn.proxies import default_recipe
from dris.learn.store.run_store import Store
from dris.learn.store.runs import Outcome, Run
from dris.learn.trainers.estimator import ESTIMATORS, logits_of
from dris.learn.trainers.job import (
    Data,
    DivergedError,
    Job,
    Positions,
    check_inputs,
    check_test,
)
from dris.learn.trainers.registry import (
    check_model,
    describe_model,
    naming_divergence,
    one_thread,
    trainer_of,
)
from dris.learn.trainers.trainer import Passes, Schedule, State, Training
from dris.learn.trainers.stacked.head import HEADS
from dris.learn.trainers.standardize import as_table

# The product's own route, for the studies of what it decides.
from dris.pipeline.ensemble import Ensemble as ProductEnsemble
from dris.pipeline.decision import SMOOTHING
from dris.pipeline.ensemble import scaling, train_ensemble
from dris.pipeline.route import decide_by
from dris.pipeline.settings import NO_ENCODER
