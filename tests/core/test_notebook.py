"""Values show themselves in a notebook, and nothing of the data is markup there."""

import numpy as np

from dris.core.dynamics.dynamics import Dynamics
from dris.data.labelled import LabelledData
from made_review import made_decision

EVIL = ("<script>x</script>", "<img src=y onerror=z>", "& dog")


def test_a_decision_shows_what_was_found_and_its_first_suspects_as_text():
    n = 60
    data = LabelledData.of(np.zeros((n, 1)), np.arange(n) % 3, classes=EVIL)
    decision = made_decision(data, suspects=9)
    text = decision._repr_html_()
    assert text.startswith("<b>Decision</b>")
    assert "9 of 60 labels look wrong" in text
    assert text.count("<tr>") == len(decision.lines()) + 1 + 5
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in text


def test_dynamics_show_themselves():
    text = Dynamics.from_losses([[1.0, 2.0], [1.5, 3.0]])._repr_html_()
    assert "<td>2</td>" in text
    assert "<th>examples</th>" in text
