"""The panels of the page: each is a file and an entry, and whoever adds both sees it."""

from importlib.resources import files

import pytest

from dris.report_page import page
from dris.report_page.page import PANELS, Panel, render
from made_report import made, with_sample


def written() -> set[str]:
    folder = files("dris.report_page").joinpath("page_files")
    return {f.name for f in folder.iterdir() if f.name.startswith("panel_")}


def test_every_panel_is_a_file_and_every_file_a_panel():
    assert {panel.file for panel in PANELS} == written()


def test_every_panel_is_on_the_page_once_in_order_and_the_bar_leads_to_it():
    text = render(with_sample(made()))
    places = [text.index(f'<section id="{panel.anchor}"') for panel in PANELS]
    assert places == sorted(places)
    assert text.count("<section") == len(PANELS)
    for panel in PANELS:
        link = f'<a href="#{panel.anchor}">{panel.title}</a>'
        assert (link in text) == bool(panel.title)


def test_a_panel_that_the_data_do_not_have_is_neither_shown_nor_linked():
    text = render(made())
    assert 'id="check"' not in text
    assert 'href="#check"' not in text


def test_a_line_in_the_registry_is_all_that_the_page_needs(monkeypatch):
    monkeypatch.setattr(page, "PANELS", (Panel("recipe", "recipe", "How it was made"),))
    text = render(made())
    assert text.count("<section") == 1
    assert '<a href="#recipe">How it was made</a>' in text


def test_an_entry_without_a_file_is_noticed(monkeypatch):
    monkeypatch.setattr(page, "PANELS", (Panel("missing", "missing"),))
    with pytest.raises(FileNotFoundError):
        render(made())
