"""Results of tests, printed as they come, and the table at the end."""

import contextlib
import sys
import traceback

from .client_report import Skipped


class Report:
    def __init__(self, differences):
        self.differences = differences
        self.counts = {}
        self.part = None

    def begin(self, part):
        print(f"== {part} ==")
        self.part = part
        self.counts[part] = {"passed": 0, "failed": 0, "known": 0, "skipped": 0}

    def ok(self, name):
        self.counts[self.part]["passed"] += 1
        print(f"ok       {name}")
        if reason := self.differences.reason(self.part, name, used=False):
            print(f"         although scripts/dav-tests.differences names it: {reason}")

    def fail(self, name, detail=""):
        reason = self.differences.reason(self.part, name)
        self.counts[self.part]["known" if reason else "failed"] += 1
        print(f"known    {name}: {reason}" if reason else f"FAILED   {name}")
        if not reason:
            for line in detail.strip().splitlines()[-12:]:
                print(f"         {line}")

    def skip(self, name, reason=""):
        self.counts[self.part]["skipped"] += 1
        print(f"skipped  {name}" + (f": {reason}" if reason else ""))

    @contextlib.contextmanager
    def step(self, name):
        """Runs a block as a test. What it raises is its failure."""
        try:
            yield
        except Skipped as reason:
            self.skip(name, str(reason))
        except Exception:
            error = sys.exc_info()[1]
            where = traceback.extract_tb(error.__traceback__)[-1]
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "dav_tests" in f.filename]
            line = f"{frames[-1].line}" if frames else where.line
            self.fail(name, f"{line}\n{type(error).__name__}: {error}")
        else:
            self.ok(name)

    def take(self, lines):
        """Takes the results that a program printed: state, name and detail, separated by tabs."""
        seen = 0
        for line in lines:
            state, _, rest = line.rstrip("\n").partition("\t")
            name, _, detail = rest.partition("\t")
            match state:
                case "ok":
                    self.ok(name)
                case "FAILED":
                    self.fail(name, detail.replace("\\n", "\n"))
                case "skipped":
                    self.skip(name, detail)
                case _:
                    continue
            seen += 1
        return seen

    def finish(self, is_whole):
        """Prints the table and returns the exit status."""
        columns = ("passed", "failed", "known", "skipped")
        print(f"\n{'':<16}" + "".join(f"{column:>9}" for column in columns))
        for part, counts in self.counts.items():
            print(f"{part:<16}" + "".join(f"{counts[column]:>9}" for column in columns))
        total = {column: sum(counts[column] for counts in self.counts.values()) for column in columns}
        if is_whole:
            for line in self.differences.unused([part for part, counts in self.counts.items() if counts["passed"]]):
                print(f"scripts/dav-tests.differences: no failure matches: {line}")
        print(f"{total['passed']} passed, {total['failed']} failed, {total['known'] + total['skipped']} skipped")
        return 1 if total["failed"] or not total["passed"] else 0
