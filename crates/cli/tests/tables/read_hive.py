"""Reads partitioned tables of an export with DuckDB, Polars and, where it is there, PyArrow.

Called with the folder of an export and the name of the partition column. Prints a JSON document:
for each table its rows, and how many each value of the partition column has.
"""

import collections
import json
import pathlib
import sys

import duckdb
import polars

folder, column = pathlib.Path(sys.argv[1]), sys.argv[2]
manifest = json.loads((folder / "manifest.json").read_text())
answer = {}
for table in sorted({entry["table"] for entry in manifest["files"]}):
    files = str(folder / table / "*" / "*.parquet")
    expected = collections.Counter()
    for entry in manifest["files"]:
        if entry["table"] == table:
            value = entry["file"].split("/")[1].removeprefix(f"{column}=")
            expected[value] += entry["rows"]
    counted = {value: rows for value, rows in expected.items() if rows}

    query = f"""select {column}::varchar, count(*)
        from read_parquet('{files}', hive_partitioning = true) group by all"""
    assert dict(duckdb.sql(query).fetchall()) == counted, table
    frame = polars.scan_parquet(files, hive_partitioning=True).collect()
    groups = frame.group_by(polars.col(column).cast(polars.String)).len().rows()
    assert dict(groups) == counted, table
    try:
        import pyarrow.dataset
    except ImportError:
        pass
    else:
        rows = pyarrow.dataset.dataset(folder / table, partitioning="hive").to_table()
        assert collections.Counter(map(str, rows[column].to_pylist())) == counted, table
    answer[table] = {"rows": sum(counted.values()), "values": len(expected)}
print(json.dumps(answer))
