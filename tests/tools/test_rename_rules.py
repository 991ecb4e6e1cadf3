import json
from dataclasses import replace

from experiments.records import Records, read_records, write_records
from experiments.rule_names import title_of
from experiments.runner import read_record
from experiments.scales import scale_of
from experiments.spec import CLEAN, Cell
from rename_rules import RENAMED, rename_cells, rename_rows

BED = scale_of("smoke").setups[0]
NEW = Cell("static", BED.source, CLEAN, BED.ensemble, "aum", 0.25, BED.target, 0)


def test_every_new_name_has_a_title_and_no_two_share_one():
    assert len({title_of(name) for name in RENAMED.values()}) == len(RENAMED)
    assert title_of(RENAMED["early+half_el2n"]) == "gated, all canaries"
    assert title_of(RENAMED["early+half_el2n+fill"]) == "gated, filled up, all canaries"
    assert title_of(RENAMED["confident_learning"]) == "Confident learning"


def test_rows_are_renamed_and_the_others_stay_to_the_letter(tmp_path):
    rows = (
        {"rule": "aum", "seed": 0, "found": {"x": "3 \u00d7"}},
        {"rule": "all", "seed": 0, "found": {"contamination": {"early+half_el2n": 0.1}}},
    )
    path = write_records(Records("a", "cpu", rows, {}, 2), tmp_path / "a.json")
    before = path.read_text(encoding="utf-8").splitlines()
    rename_rows(path)
    assert path.read_text(encoding="utf-8").splitlines()[:2] == before[:2]
    (dirt,) = read_records(path).rows[1]["found"].values()
    assert dirt == {"gate:early_margin:0.9:half_el2n:all": 0.1}


def test_a_renamed_cell_is_found_by_its_new_key_and_others_stay(tmp_path):
    old = replace(NEW, rule="confident_learning")
    for cell in (NEW, old):
        record = {"cell": cell.content, "found": {"accuracy": 0.5}, "versions": {}}
        (tmp_path / f"{cell.key}.json").write_text(json.dumps(record), encoding="utf-8")
        (tmp_path / f"{cell.key}.time.json").write_text('{"target": 1.0}', encoding="utf-8")
    new = replace(NEW, rule="confident_learning_remove")
    assert rename_cells(tmp_path) == [new.key]
    assert read_record(tmp_path, new)["cell"] == json.loads(json.dumps(new.content))
    assert not (tmp_path / f"{old.key}.json").exists()
    assert read_record(tmp_path, NEW)["seconds"] == {"target": 1.0}
