"""Excel workbooks: the first sheet that holds anything, names below its titles (extra `excel`)."""

import datetime
import zipfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dris.core.errors import InputError
from dris.data.files import reading, refuse_larger_than_memory
from dris.data.labelled import Change, LabelledData
from dris.data.tables.rows import Rows, table_rows

MAX_ROWS = 1_048_576  # of a sheet


def open_excel(files: Sequence[Path], *, as_text: Sequence[str] = ()) -> Rows:
    """The sheet as a table; a column is numbers, dates or yes/no where every cell is one."""
    (path,) = files
    with reading(path, "Excel workbook (.xlsx)"):
        _, header, rows, first = _sheet(path)
    names = ["" if cell is None else str(cell) for cell in header]
    while names and not names[-1]:
        names.pop()
    if not names:
        raise InputError(f"{path} is empty; its first row must name the columns")
    cells = [[row[i] if i < len(row) else None for row in rows] for i in range(len(names))]
    columns = [_column(values, name in as_text) for name, values in zip(names, cells, strict=True)]
    table = pa.table(columns, names=names)
    return table_rows(
        table, files, format="excel", locate=lambda _, row: f"row {row + first} of {path}"
    )


def write_excel(data: LabelledData, change: Change, path: Path) -> None:
    """Write the sheet with the rows that stay: values, not colours or formulas."""
    openpyxl = _openpyxl()
    before, header, rows, _ = _sheet(data.origin.files[0])
    names = [str(cell) for cell in header]
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("data")
    for row in before:
        sheet.append(row)
    sheet.append([*header, *change.columns])
    for i, row in enumerate(rows):
        if not change.keep[i]:
            continue
        cells = list(row) + [None] * (len(header) - len(row))
        for name, value in change.edits(data, i).items():
            cells[names.index(name)] = value
        sheet.append([*cells, *(values[i].item() for values in change.columns.values())])
    with path.open("xb") as out:
        book.save(out)


def _sheet(path: Path) -> tuple[list[list[Any]], list[Any], list[list[Any]], int]:
    """Of the first sheet with cells: titles of one cell, names, rows, and the first row's place."""
    openpyxl = _openpyxl()
    with zipfile.ZipFile(path) as parts:
        refuse_larger_than_memory(path, sum(part.file_size for part in parts.infolist()))
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        for sheet in book.worksheets:
            rows = [list(row) for row in islice(sheet.iter_rows(values_only=True), MAX_ROWS + 1)]
            if len(rows) > MAX_ROWS:
                raise InputError(
                    f"{path} has more than {MAX_ROWS:,} rows, which no workbook can have; save "
                    "the data as CSV or Parquet"
                )
            cells = [sum(cell is not None for cell in row) for row in rows]
            filled = [i for i, count in enumerate(cells) if count]
            if filled:
                wide = next((place for place, i in enumerate(filled) if cells[i] > 1), 0)
                names = filled[wide]
                body = filled[wide + 1 :]
                held = [rows[i] for i in body]
                return rows[:names], rows[names], held, (body or [names + 1])[0] + 1
    finally:
        book.close()
    raise InputError(f"{path} is empty; its first row must name the columns")


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            "Excel files need the extra excel; pip install '.[excel]', or save the sheet as CSV"
        ) from None
    return openpyxl


def _column(values: list[Any], as_text: bool) -> Any:
    """An Arrow column of the one kind that all cells have, else of text."""
    kinds = {type(v) for v in values if v is not None}
    if kinds and kinds <= {int, float} and not as_text:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds and kinds <= {datetime.datetime, datetime.date}:
        return pa.array(np.array(values, dtype="datetime64[us]"))
    whole = [int(v) if isinstance(v, float) and v.is_integer() else v for v in values]
    return pa.array([None if v is None else str(v) or None for v in whole], pa.string())
