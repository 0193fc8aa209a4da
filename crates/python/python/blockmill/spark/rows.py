"""The rows of units: those that are there, and those that workers make now."""

from functools import partial as task

from . import worker
from .folder import Folder, Unit
from .worker import on_workers

# what the driver keeps of a row
SLIM = ["unit", "size", "after", "sha256", "document", "status", "starts_at", "is_open", "message"]
SLIM += ["file", "offset"]


class Rows:
    """Where the driver gets rows from. What was asked for is counted."""

    def __init__(self, spark, job):
        self.spark, self.job = spark, job
        self.verified_now = self.finished_before = 0
        # of which there are rows
        self.units = []

    def of(self, units):
        """What the driver keeps of the rows of units, by unit. Those are verified that have no row
        for the bytes that their file has now, the largest first."""
        there = Folder(self.job.state).names("units")
        known = [unit for unit in units if self.job.name(unit) in there]
        finished = self.collected(worker.finished_unit, known)
        to_do = [unit for unit in units if unit not in finished]
        to_do.sort(key=lambda unit: -unit.size)
        done = self.collected(worker.verify_unit, to_do)
        if missing := [unit.url for unit in to_do if unit not in done]:
            raise RuntimeError(f"expected a row of each unit, found none of {missing[0]}")
        self.units += units
        self.finished_before += len(finished)
        self.verified_now += len(to_do)
        return finished | done

    def collected(self, what, units):
        """What the driver keeps of the rows that `what` yields of these units."""
        if not units:
            return {}
        rows = on_workers(self.spark, task(what, self.job), units).select(*SLIM).collect()
        return {Unit(row.unit, row.size, row.after): row for row in rows}
