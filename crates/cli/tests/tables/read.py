"""Reads every table of an export with DuckDB and with Polars, and holds them to each other.

Called with the folder of an export. Prints a JSON document: for each table its rows, and the types
that each program gives its columns.
"""

import json
import pathlib
import sys

import duckdb
import polars

folder = pathlib.Path(sys.argv[1])
manifest = json.loads((folder / "manifest.json").read_text())
database = duckdb.connect()
answer = {}
for table in sorted({entry["table"] for entry in manifest["files"]}):
    entries = [entry for entry in manifest["files"] if entry["table"] == table]
    files = [str(folder / entry["file"]) for entry in entries]
    expected = sum(entry["rows"] for entry in entries)

    relation = database.read_parquet(files)
    frame = polars.read_parquet(files)
    assert relation.columns == frame.columns, (table, relation.columns, frame.columns)
    rows = relation.fetchall()
    assert len(rows) == frame.height == expected, (table, len(rows), frame.height, expected)
    for row, other in zip(rows, frame.iter_rows()):
        for name, a, b in zip(relation.columns, row, other):
            if hasattr(a, "timestamp"):
                assert a.timestamp() == b.timestamp(), (table, name, a, b)
            else:
                assert a == b, (table, name, a, b)

    # what a filter finds by a hash is what is there
    key = next((name for name in frame.columns if name.endswith("hash")), None)
    if key is not None and expected > 0:
        value = frame[key][expected // 2]
        column = duckdb.ColumnExpression(key)
        found = relation.filter(column == duckdb.ConstantExpression(value)).fetchall()
        lazy = polars.scan_parquet(files).filter(polars.col(key) == polars.lit(value)).collect()
        assert 0 < len(found) == lazy.height, (table, key, len(found), lazy.height)

    # and what a row group says of itself is what it has
    statistics = database.execute(
        "SELECT sum(num_values), count(bloom_filter_offset) FROM parquet_metadata(?)", [files]
    ).fetchall()[0]
    answer[table] = {
        "rows": expected,
        "values": int(statistics[0] or 0),
        "filters": int(statistics[1]),
        "duckdb": {name: str(kind) for name, kind in zip(relation.columns, relation.types)},
        "polars": {name: str(kind) for name, kind in frame.schema.items()},
    }
print(json.dumps(answer))
