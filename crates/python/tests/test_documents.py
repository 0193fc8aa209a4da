"""The examples of README and docs/python.md, run where their files are."""

import contextlib
import io
import os
import re
import subprocess
import unittest
from pathlib import Path

import blockmill
import duckdb
from support import ETHEREUM, PROGRAM, Folder

ERA1 = ETHEREUM / "era1" / "mainnet-00000-5ec1ffb8.era1"
ROOT = Path(__file__).resolve().parents[3]


class Documents(unittest.TestCase):
    def run_all(self, document, place):
        """Runs the examples of a document where their files are; what they print."""
        folder = Folder()
        self.addCleanup(folder.close)
        (folder / ERA1.name).symlink_to(ERA1)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder / place)
        text = (ROOT / document).read_text()
        examples = re.findall(r"```python\n(import blockmill.*?)```", text, re.DOTALL)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for example in examples:
                exec(compile(example, document, "exec"), {})
        self.assertEqual(len(examples), 1)
        return printed.getvalue()

    def test_readme(self):
        self.assertIn("miner", self.run_all("README.md", "."))

    def test_readme_exports(self):
        folder = Folder()
        self.addCleanup(folder.close)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder / ".")
        text = (ROOT / "README.md").read_text()
        commands = re.findall(r"^\$ (blockmill (?:generate|export) .*)$", text, re.M)
        self.assertEqual(len(commands), 2)
        environment = {**os.environ, "PATH": f"{Path(PROGRAM).parent}:{os.environ['PATH']}"}
        for command in commands:
            done = subprocess.run(
                command, shell=True, capture_output=True, text=True, env=environment, check=True
            )
        # a file has the revision that wrote it
        plain = lambda line: re.sub(r"[0-9,]+ bytes", "bytes", line)
        shown = {plain(line) for line in text.splitlines()}
        tables = [line for line in done.stdout.splitlines() if " rows in " in line]
        self.assertEqual(len(tables), 3)
        self.assertLessEqual({plain(line) for line in tables}, shown)
        [(expected, query)] = re.findall(r"```sql\n-- in DuckDB: (.*)\n(.*)\n```", text)
        [found] = duckdb.sql(query).fetchall()
        self.assertEqual(" and ".join(map(str, found)), expected)

    def test_docs(self):
        self.assertTrue(self.run_all("docs/python.md", "hive").endswith("verified\n"))

    def test_every_function_is_in_the_document(self):
        text = (ROOT / "docs/python.md").read_text()
        for name in blockmill.__all__:
            if name not in ["Error", "Rows"]:
                self.assertIn(f"`{name}", text)


if __name__ == "__main__":
    unittest.main()
