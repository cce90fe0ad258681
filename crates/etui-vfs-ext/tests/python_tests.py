"""Runs Python's own test.test_sqlite3 with the VFS etui as the default one, and without. Run by
scripts/python-tests.

python_tests.py FOLDER [LIBRARY]    FOLDER holds test_sqlite3 as it is in Python's source
"""

import pathlib
import sqlite3
import sys
import tempfile
import unittest

# What is not run, and why.
EXCLUDED = {}


def cases(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        else:
            yield test


def main():
    folder, *library = sys.argv[1:]
    import test

    # Debian's Python comes without this one.
    test.__path__.insert(0, folder)
    if library:
        db = sqlite3.connect(":memory:")
        db.enable_load_extension(True)
        db.load_extension(library[0])
        db.close()
    names = [f"test.test_sqlite3.{path.stem}" for path in
             sorted(pathlib.Path(folder, "test_sqlite3").glob("test_*.py"))]
    tests = list(cases(unittest.defaultTestLoader.loadTestsFromNames(names)))
    chosen = [test for test in tests if test.id() not in EXCLUDED]
    for name, reason in EXCLUDED.items():
        print(f"excluded: {name}: {reason}")
    result = unittest.TextTestRunner(verbosity=0).run(unittest.TestSuite(chosen))
    for test, reason in result.skipped:
        print(f"skipped by Python: {test.id()}: {reason}")
    if library:
        # Files went through it indeed: an ordinary VFS does not know this pragma.
        with tempfile.TemporaryDirectory() as empty:
            file = sqlite3.connect(f"{empty}/app.db")
            stats = file.execute("PRAGMA etui_stats").fetchone()[0]
            file.close()
        used = [line for line in stats.splitlines() if not line.endswith(" 0")]
        print("by the VFS:", ", ".join(used))
        if not any(line.startswith("database_writes") for line in used):
            sys.exit("the VFS was not the default one")
    print(f"{result.testsRun} tests, {len(result.failures) + len(result.errors)} failed, "
          f"{len(result.skipped)} skipped, {len(EXCLUDED)} excluded")
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
