"""Tables in folders as Hive names them: shards write them, and the engine reads them."""

import datetime
import json
import unittest
from collections import Counter

import blockmill
import blockmill.spark
import pyarrow.parquet as pq
from spark_blocks import BITCOIN, generate
from spark_support import OnEngine, chain, cut, write_shards

CHAIN = "hive-sync"
ORDER = ("number", "block_number", "transaction_index", "index")


def day_of(row):
    """The value of the partition column `date` of a row."""
    return row.get("timestamp", row.get("block_timestamp")).date()


def range_of(size):
    """A function for the value of the partition column `block_range` of a row."""

    def of(row):
        number = row.get("number", row.get("block_number"))
        first = number - number % size
        return f"{first:09}-{first + size - 1:09}"

    return of


PARTITIONS = [("date", "date", day_of), ("blocks=7", "block_range", range_of(7))]


class Partitions(OnEngine):
    def written(self, to):
        """The rows of all tables, by table and path of a folder, in the order of the chain."""
        manifest = json.loads((to / "manifest.json").read_text())
        rows = {}
        for file in manifest["files"]:
            # without the column that the name of the folder has
            table = pq.ParquetFile(to / file["file"]).read()
            folder = file["file"].rpartition("/")[0]
            rows.setdefault(folder, []).extend(table.to_pylist())
        for found in rows.values():
            found.sort(key=lambda row: [row[name] for name in ORDER if name in row])
        return rows

    def read_by_engine(self, to, column, value_of):
        """Holds the rows and partition values that the engine reads to the files."""
        tables = {}
        for folder, rows in self.written(to).items():
            tables.setdefault(folder.partition("/")[0], []).extend(rows)
        for name in ("blocks", "transactions"):
            frame = self.spark.read.parquet(str(to / name))
            self.assertIn(column, frame.columns)
            found = frame.groupBy(column).count().collect()
            found = {as_text(row[0]): row[1] for row in found}
            expected = Counter(as_text(value_of(row)) for row in tables[name])
            self.assertGreater(len(expected), 1)
            self.assertEqual(found, dict(expected))
            value = max(expected)
            of_one = frame.where(f"{column} = '{value}'").count()
            self.assertEqual(of_one, expected[value])

    def test_shards_write_the_folders_of_a_single_run_and_the_engine_reads_them(self):
        # `hive-sync` is of one day
        chains = [
            (write_shards(self.new(), CHAIN, *cut(chain(CHAIN)[:40], 3)), PARTITIONS[1:]),
            (generate(self.new(), "--order=download"), PARTITIONS),
        ]
        for folder, partitions in chains:
            for by, column, value_of in partitions:
                to, alone = self.new(), self.new()
                asked = {"partition": by, "tables": "all", "level": "bodies", "seal": "off"}
                answer = blockmill.spark.export(self.spark, folder, to, **asked)
                self.assertEqual(answer["status"], "verified")
                blockmill.export(str(folder), alone, **asked)
                self.assertEqual(self.written(to), self.written(alone))
                self.read_by_engine(to, column, value_of)

    def test_an_export_of_the_program_is_read_by_the_engine(self):
        path, to = str(BITCOIN / "testnet3-0-400.dat"), self.new()
        blockmill.export(path, to, partition="date", partial=True)
        self.read_by_engine(to, "date", day_of)
        manifest = json.loads((to / "manifest.json").read_text())
        self.assertEqual(manifest["partition"], "date")


def as_text(value):
    """A partition value as the names of folders have it."""
    return value.isoformat() if isinstance(value, datetime.date) else value


if __name__ == "__main__":
    unittest.main()
