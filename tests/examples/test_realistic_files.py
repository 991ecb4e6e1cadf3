"""Files as people have them are read in one attempt, with no option but the label.

They are written by "realistic_files.py".
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import dris

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from realistic_files import write_all

USED = {
    "tickets": {"created", "channel", "text"},
    "churn": {"signup", "city", "plan", "monthly", "autopay", "calls", "last_login"},
    "products": {"title", "description", "price", "discount"},
    "sensors": {"time", "machine", *(f"sensor_{i}" for i in range(8))},
    "survey": {"age", "comment", *(f"q{i}" for i in range(1, 11))},
    "reviews": {"review", "stars_of_shop"},
    "photos": {"file_name"},
    "embeddings": {"text", "embedding"},
    "meters": {"Ablesung", "Verbrauch", "Spitze", "Anteil nachts"},
    "questions": {"text"},
}


@pytest.fixture(scope="module")
def ten(tmp_path_factory):
    return {made.name: made for made in write_all(tmp_path_factory.mktemp("ten"), rows=240)}


@pytest.mark.parametrize("name", USED)
def test_a_realistic_file_is_read_with_no_option_but_the_label(name, ten):
    made = ten[name]
    data = dris.read_data(made.path, label=made.label)
    assert len(data) == len(made.wrong)
    assert np.isfinite(data.x).all()
    assert {feature.column for feature in data.features} == USED[name]
    assert data.leaks == ()
