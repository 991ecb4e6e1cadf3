"""Curves name what is drawn, ours or the paper's, and nothing else."""

from experiments.results.curves import Panel, curve_panels


def test_a_curve_without_a_point_is_not_in_the_legend(tmp_path):
    curves = {"Random": {0.1: [1.0, 2.0]}, "gated": {0.1: []}, "EL2N": {0.1: []}}
    path = curve_panels([Panel("a", "x", "y", curves, {"EL2N": {0.1: 1.5}})], tmp_path / "a.png")
    drawn = path.with_suffix(".svg").read_text(encoding="utf-8")
    assert [name for name in curves if name in drawn] == ["Random", "EL2N"]
    curves["gated"][0.1].append(1.0)
    curve_panels([Panel("a", "x", "y", curves)], tmp_path / "b.png")
    assert "gated" in (tmp_path / "b.svg").read_text(encoding="utf-8")
