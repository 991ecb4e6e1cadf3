"""Bars of the same rule have the same colour in every panel."""

from matplotlib.colors import to_rgba

from experiments.results import figures
from experiments.results.table import Table


def table(rows):
    return Table("t", rows, ["clean"], {(row, "clean"): [0.1 * len(row)] for row in rows})


def test_a_row_keeps_its_colour_where_another_panel_lacks_the_one_above_it(monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(
        figures, "save_png_and_svg", lambda figure, path: drawn.append(figure) or path
    )
    panels = [("one", table(["a", "bb", "ccc"])), ("two", table(["a", "ccc"]))]
    figures.grouped_bars(panels, "accuracy", tmp_path / "f.png")
    (figure,) = drawn
    colours = [
        {round(bar.get_height()): bar.get_facecolor() for bar in axes.patches if bar.get_height()}
        for axes in figure.axes
    ]
    assert colours[0][30] == colours[1][30]  # ccc, third and second
    assert len(set(colours[0].values())) == 3
    legend = figure.legends[0]
    told = {t.get_text(): h for t, h in zip(legend.get_texts(), legend.legend_handles, strict=True)}
    assert list(told) == ["a", "bb", "ccc"]
    assert to_rgba(told["ccc"].get_facecolor()) == to_rgba(colours[1][30])
