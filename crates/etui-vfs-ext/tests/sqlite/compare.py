"""Runs SQLite's test files with stock SQLite and with the VFS etui, and compares. Run by
scripts/sqlite-tests.

A test (or a command of a file that fails outside of any test, told as FILE:LINE) that passes with
stock SQLite and not with the VFS is a difference, unless an exclusion names it. So is a group of
tests (the same name but for numbers) of which stock SQLite runs some and the VFS none: its name
has # for each number.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BEGUN = re.compile(r"^(?!Running )(?P<name>\S.*?)\.\.\.(?P<ok> Ok)?$")
ABORTED = re.compile(r"^# ABORTED (?P<name>[^:]+:\d+): (?P<why>.*)$")


def family(name):
    """A test's name without its numbers: loops run until nothing fails any more, and how often
    that is depends on the VFS."""
    return re.sub(r"\d+", "#", name)


class Outcome:
    """What a run of a file printed."""

    def __init__(self, text, ended):
        self.passed, self.failed = set(), {}
        self.ended = ended
        lines = text.splitlines()
        for at, line in enumerate(lines):
            if match := ABORTED.match(line):
                self.failed.setdefault(match["name"], match["why"])
            elif match := BEGUN.match(line):
                if match["ok"]:
                    self.passed.add(match["name"])
                else:
                    why = " ".join(lines[at + 1 : at + 3])
                    self.failed.setdefault(match["name"], why)
        self.passed -= self.failed.keys()
        if ended.startswith("timeout") and lines and (match := BEGUN.match(lines[-1])):
            # It was running still.
            self.failed.pop(match["name"], None)
        if ended not in ("0", "1"):
            self.failed["(end)"] = f"the run ended by {ended}"


def run(options, file, library):
    """Runs a file in a directory of its own; what it printed is kept beside."""
    kind = "etui" if library else "stock"
    kept = options.results / f"{file.stem}.{kind}"
    if not library and kept.exists() and not options.anew:
        ended, _, text = kept.read_text(errors="replace").partition("\n")
        return Outcome(text, ended)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ETUI_")}
    if library:
        environment |= {
            "ETUI_LIBRARY": str(library),
            "ETUI_VFS_DEFAULT": "1",
            "ETUI_VFS_REDO_LOG": options.redo_log,
            # Many small databases: a small log saves time.
            "ETUI_VFS_LOG": "65536",
            "ETUI_VFS_GROWTH": "65536",
        }
    folder = Path(tempfile.mkdtemp(prefix=f"{file.stem}-", dir=options.results))
    command = [options.testfixture, Path(__file__).parent / "prelude.tcl", file]
    with open(folder / "output.txt", "wb") as output:
        program = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            ended = str(program.wait(options.timeout))
        except subprocess.TimeoutExpired:
            # Its own children go with it.
            os.killpg(program.pid, 9)
            program.wait()
            ended = f"timeout of {options.timeout} s"
    text = (folder / "output.txt").read_bytes().decode(errors="replace")
    shutil.rmtree(folder, ignore_errors=True)
    kept.write_text(f"{ended}\n{text}")
    return Outcome(text, ended)


def read_exclusions(path):
    """Lines of a pattern, a colon and a reason.

    A pattern is a test's name, FILE.test, FILE.test:LINE, FILE.test(end) for how the run ended, or
    `message` and what the test said.
    """
    exclusions = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            pattern, found, reason = line.partition(" : ")
            if not found or not reason.strip():
                raise SystemExit(f"{path}:{number}: no reason: {line}")
            exclusions[pattern.strip()] = reason.strip()
    return exclusions


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--testfixture", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--exclusions", type=Path, required=True)
    parser.add_argument("--redo-log", required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--timeout", type=int, required=True)
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--anew", action="store_true", help="run stock SQLite again as well")
    parser.add_argument("--unused", action="store_true", help="tell exclusions without effect")
    parser.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    exclusions = read_exclusions(options.exclusions)
    used = set()

    def exclusion(name, said=""):
        for pattern in exclusions:
            about = f"message {said}" if pattern.startswith("message ") else name
            if fnmatch.fnmatchcase(about, pattern):
                used.add(pattern)
                return True
        return False

    files = [file for file in options.files if not exclusion(file.name)]
    for file in options.files:
        if file not in files:
            print(f"{file.name}: excluded")

    def both(file):
        return file, run(options, file, None), run(options, file, options.library)

    tests = passed = excluded = stock_fails = different = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for file, stock, ours in pool.map(both, files):
            tests += len(ours.passed) + len(ours.failed)
            passed += len(ours.passed)
            here = skipped = 0
            for name, why in ours.failed.items():
                if name in stock.failed:
                    stock_fails += 1
                elif exclusion(name if name != "(end)" else f"{file.name}(end)", why):
                    skipped += 1
                else:
                    here += 1
                    print(f"DIFFERENT {file.stem} {name}: {why[:300]}")
            ours_families = {family(name) for name in ours.passed | ours.failed.keys()}
            for name in sorted({family(name) for name in stock.passed} - ours_families):
                if exclusion(name):
                    skipped += 1
                else:
                    here += 1
                    print(f"DIFFERENT {file.stem} {name}: none of these was reached")
            excluded += skipped
            different += here
            not_run = len(stock.passed - ours.passed - ours.failed.keys())
            print(
                f"{file.name}: {len(ours.passed)} pass, {skipped} excluded, {here} different,"
                f" {not_run} not reached; stock: {len(stock.passed)} pass, {len(stock.failed)} fail",
                flush=True,
            )
    print(
        f"{len(files)} files, {tests} tests: {passed} pass, {stock_fails} fail with stock SQLite as"
        f" well, {excluded} are excluded, {different} differ"
    )
    for pattern in exclusions.keys() - used if options.unused else ():
        print(f"note: the exclusion {pattern} applied to nothing in this run")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
