"""Clusters of Apache Spark on loopback, of which workers and drivers are killed in the middle.

Needs a JVM and the whole of pyspark. Only processes that the tests started are ended, by their ids.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import pyspark
from spark_blocks import generate
from spark_support import chain, cut, table, write_shards

CHAIN = "hive-sync"
SHARDS = 24
HOME = Path(pyspark.__file__).parent
ENVIRONMENT = {
    **os.environ,
    "SPARK_HOME": str(HOME),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
}
CONF = ["spark.ui.enabled=false", "spark.executor.memory=512m", "spark.cores.max=2"]


def wait_for(what, seconds, look):
    """What `look` finds, as soon as it finds something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"no {what} within {seconds} s")


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        parts = cut(chain(CHAIN), SHARDS)
        cls.chain = write_shards(cls.folder / "chain", CHAIN, *parts)
        cls.blocks = generate(cls.folder / "blocks", "--order=download", "--file-size=14000")
        # what undisturbed runs find
        cls.undisturbed = cls.folder / "undisturbed"
        cls.finish(cls.begin(cls.undisturbed, "local[2]"))
        cls.undisturbed_blocks = cls.folder / "undisturbed-blocks"
        cls.finish(cls.begin(cls.undisturbed_blocks, "local[2]", cls.blocks))

    @classmethod
    def start(cls, name, command):
        """Starts a process; what it says goes into a file."""
        log = (cls.folder / f"{name}.log").open("w")
        with log:
            process = subprocess.Popen(command, env=ENVIRONMENT, stdout=log, stderr=log)
        cls.addClassCleanup(cls.end, process)
        return process

    @staticmethod
    def end(process):
        """Ends a process that was started here."""
        if process.poll() is None:
            process.kill()
        process.wait()

    @classmethod
    def begin(cls, to, master, archive=None):
        """A driver at work."""
        conf = [word for pair in CONF for word in ("--conf", pair)]
        # what a run chooses, runs choose alike
        fixed = ["--seal", "off", "--seal-seed", "1", "--now", "1800000000"]
        words = ["verify", archive or cls.chain, "--to", to, *fixed, "--master", master, *conf]
        name = f"driver-{time.monotonic_ns()}"
        driver = cls.start(name, [sys.executable, "-m", "blockmill.spark", *map(str, words)])
        driver.log = cls.folder / f"{name}.log"
        return driver

    @classmethod
    def finish(cls, driver):
        """How many tasks a driver found finished; it ends well."""
        code, said = driver.wait(1800), driver.log.read_text()
        if code != 0:
            raise AssertionError(said)
        line = r"verified: \d+ shards, .*; (\d+) of \d+ tasks were finished before"
        found = re.search(line, said)
        if not found:
            raise AssertionError(said)
        return int(found[1])

    def rows(self, to):
        """How many tasks are finished."""
        return len(list(to.glob("shards/*.parquet")))

    def standalone(self):
        """A master and two workers on ports that the system chooses: the master's URL, the workers'
        processes."""
        spark_class = [HOME / "bin" / "spark-class", "org.apache.spark.deploy"]

        def service(name, role, *words):
            command = [spark_class[0], f"{spark_class[1]}.{role}", *words, "--webui-port", "0"]
            return self.start(name, [str(word) for word in command])

        number = time.monotonic_ns()
        service(f"master-{number}", "master.Master", "--host", "127.0.0.1", "--port", "0")
        said = self.folder / f"master-{number}.log"
        is_up = lambda: re.search(r"Starting Spark master at (spark://[\d.:]+)", said.read_text())
        url = wait_for("master", 300, is_up)[1]
        workers = [
            service(
                f"worker-{number}-{i}", "worker.Worker", url, "--host", "127.0.0.1", "--cores", "1",
                "--memory", "1g", "--work-dir", self.folder / f"work-{number}-{i}",
            )
            for i in range(2)
        ]
        for i in range(2):
            log = self.folder / f"worker-{number}-{i}.log"
            wait_for("worker", 300, lambda: "Successfully registered" in log.read_text())
        return url, workers

    def test_a_worker_that_is_killed_changes_nothing(self):
        url, workers = self.standalone()
        to = self.folder / "worker-killed"
        driver = self.begin(to, url)
        wait_for("row", 600, lambda: self.rows(to) > 2)
        workers[0].kill()
        workers[0].wait()
        before = self.rows(to)
        self.assertLess(before, SHARDS)
        self.assertEqual(self.finish(driver), 0)
        self.assertEqual(table(to), table(self.undisturbed))

    def kill_driver(self, to, archive, tasks, enough):
        """A driver that is killed when more than `enough` tasks are finished, and starts again."""
        url, _ = self.standalone()
        driver = self.begin(to, url, archive)
        wait_for("row", 600, lambda: self.rows(to) > enough)
        driver.kill()
        driver.wait()
        written = {path: path.stat().st_mtime_ns for path in to.glob("shards/*.parquet")}
        self.assertLess(len(written), tasks)
        # tasks that were under way may end, too
        self.assertGreaterEqual(self.finish(self.begin(to, url, archive)), len(written))
        self.assertEqual({path: path.stat().st_mtime_ns for path in written}, written)
        self.assertFalse((to / "_aside").exists())

    def test_a_driver_that_is_killed_resumes_when_it_starts_again(self):
        to = self.folder / "driver-killed"
        self.kill_driver(to, self.chain, SHARDS, 2)
        self.assertEqual(table(to), table(self.undisturbed))

    def test_a_driver_that_is_killed_in_the_second_step_of_block_files_resumes(self):
        to, undisturbed = self.folder / "second-step", table(self.undisturbed_blocks)
        shards = len(list(self.blocks.glob("blk*.dat")))
        self.assertGreaterEqual(len(undisturbed), 2 * shards)
        self.kill_driver(to, self.blocks, len(undisturbed), shards + 1)
        self.assertEqual(table(to), undisturbed)

    def test_a_cluster_within_one_process_finds_the_same(self):
        cases = [(self.chain, self.undisturbed), (self.blocks, self.undisturbed_blocks)]
        for i, (archive, undisturbed) in enumerate(cases):
            to = self.folder / f"local-cluster-{i}"
            self.assertEqual(self.finish(self.begin(to, "local-cluster[2,1,1024]", archive)), 0)
            self.assertEqual(table(to), table(undisturbed))


if __name__ == "__main__":
    unittest.main()
