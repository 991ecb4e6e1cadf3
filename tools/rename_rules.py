"""Give the rules of older records the names that say what they were: nothing is run again.

    python tools/rename_rules.py results/reproduction/records/*.json
    python tools/rename_rules.py reproduced/cpu/records

A file is an experiment's rows. A folder is what a run wrote, `<key>.json` for each cell: a cell
with a renamed rule gets the key of its new name. Before, all canaries set the gate of a gated rule;
":all" marks that, so that no name means two things.
"""

import json
import sys
from pathlib import Path
from typing import Any

from dris.core.files import write_atomically
from dris.core.select.gate_scores import CHOOSERS
from experiments.spec import key_of

RENAMED = {
    "early+half_el2n": "gate:early_margin:0.9:half_el2n:all",
    "early+half_el2n+fill": "gate:early_margin:0.9:half_el2n:fill:all",
    **{f"gate+{chooser}": f"gate:margin:0.9:{chooser}:all" for chooser in CHOOSERS},
    "gate+half_el2n+fill": "gate:margin:0.9:half_el2n:fill:all",
    "gate80+el2n": "gate:margin:0.8:el2n:all",
    "gate95+el2n": "gate:margin:0.95:el2n:all",
    "gate_rank+el2n": "gate:mean_rank:0.9:el2n:all",
    "gate_both+el2n": "gate:margin_and_rank:0.9:el2n:all",
    "confident_learning": "confident_learning_remove",
}


def renamed(content: Any) -> Any:
    """The same content with every rule under its present name, as a value or as a key.

    >>> renamed({"rule": "gate80+el2n", "found": {"confident_learning": 0.1}})
    {'rule': 'gate:margin:0.8:el2n:all', 'found': {'confident_learning_remove': 0.1}}
    """
    if isinstance(content, dict):
        return {RENAMED.get(name, name): renamed(part) for name, part in content.items()}
    if isinstance(content, list):
        return [renamed(part) for part in content]
    return RENAMED.get(content, content) if isinstance(content, str) else content


def rename_rows(path: Path) -> None:
    """An experiment's rows, one line each; lines without an old name stay to the letter."""
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    for at, line in enumerate(lines):
        if line.startswith("{"):
            row = json.loads(line.rstrip(","))
            comma = "," if line.endswith(",") else ""
            lines[at] = line if renamed(row) == row else json.dumps(renamed(row)) + comma
    write_atomically(path, ["\n".join([head, *lines, ""]).encode()])


def rename_cells(folder: Path) -> list[str]:
    """The records of a run; returns the new keys of those that got one."""
    keys = []
    for path in sorted(folder.glob("*.json")):
        if path.name.endswith(".time.json"):
            continue
        record = json.loads(path.read_text(encoding="utf-8"))
        if (new := renamed(record)) == record:
            continue
        key = key_of(new["cell"])
        beside = path.with_suffix(".time.json")
        if beside.exists():
            beside.rename(folder / f"{key}.time.json")
        write_atomically(folder / f"{key}.json", [(json.dumps(new, indent=1) + "\n").encode()])
        if key != path.stem:
            path.unlink()
        keys.append(key)
    return keys


if __name__ == "__main__":
    for named in map(Path, sys.argv[1:]):
        if named.is_dir():
            sys.stderr.write(f"{named}: {len(rename_cells(named))} cells renamed\n")
        else:
            rename_rows(named)
