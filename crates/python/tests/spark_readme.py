"""The example of docs/distributed.md runs, and prints what is shown there."""

import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from spark_support import ERAS

PAGE = Path(__file__).parents[3] / "docs" / "distributed.md"


class Page(unittest.TestCase):
    def test_the_example_says_what_it_says(self):
        lines = PAGE.read_text().splitlines()
        begin = "$ python -m blockmill.spark "
        at = [i for i, line in enumerate(lines) if line.startswith(begin)]
        self.assertTrue(at)
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "mainnet")
            archive.mkdir()
            for era in ERAS:
                (archive / era.name).symlink_to(era)
            for i in at:
                command = [sys.executable, *shlex.split(lines[i])[2:]]
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
                self.assertEqual(done.stdout.strip(), lines[i + 1], done.stderr)


if __name__ == "__main__":
    unittest.main()
