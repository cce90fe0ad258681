"""Programs that use the extension, and are killed. Run by scripts/test-extension.

sessions.py session LIBRARY            one Python program: use, refusals, a clean close
sessions.py kills LIBRARY NUMBER SEED  programs that insert rows and are killed at random moments
sessions.py write LIBRARY DATABASE     such a program: prints what is committed
"""

import hashlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing

ROWS = 3  # rows of a transaction
IDLE = 9.0  # seconds until a database is surely an ordinary one: it takes 5, looked at every 2.5


def load(library):
    """Loads the extension; it stays for the life of the process."""
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(library)
    return db


def connect(path, timeout=0.0):
    return sqlite3.connect(
        f"file:{path}?vfs=etui", uri=True, timeout=timeout, isolation_level=None
    )


def plain(path):
    """A connection without the extension, to be closed: one that is only forgotten holds locks."""
    return closing(sqlite3.connect(path, timeout=0.0, isolation_level=None))


def ask_plain(path, sql):
    with plain(path) as db:
        return ask(db, sql)


def ask(db, sql, *values):
    return db.execute(sql, values).fetchone()[0]


def refused(what, action):
    """The error of what has to fail."""
    try:
        action()
    except sqlite3.Error as error:
        return str(error)
    raise SystemExit(f"not refused: {what}")


def check(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")


def body(number):
    """What belongs into a row: some bytes to some pages, told by its number."""
    piece = hashlib.sha256(str(number).encode()).hexdigest()
    return piece * (1 + number % 7 * (40 if number % 50 == 0 else 1))


# One program.


def session(library, folder):
    extension = load(library)
    path = os.path.join(folder, "app.db")
    print("version", ask(extension, "SELECT etui_vfs_version()"))

    db = connect(path)
    check(ask(db, "PRAGMA journal_mode=WAL") == "wal", "WAL mode")
    db.execute("CREATE TABLE t(n INTEGER PRIMARY KEY, body)")
    db.execute("INSERT INTO t VALUES(1, 'one')")
    stats = dict(line.split() for line in ask(db, "PRAGMA etui_stats").splitlines())
    check(int(stats["records"]) >= 2, f"etui_stats: {stats}")
    other = connect(path)
    check(ask(other, "SELECT body FROM t") == "one", "a second connection reads")
    other.execute("INSERT INTO t VALUES(2, 'two')")
    other.close()

    print("plain SQLite while it is open:", refused("plain", lambda: ask_plain(path, "SELECT 1 FROM t")))
    code = (
        f"import sys\nsys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
        "import sessions\n"
        f"extension = sessions.load({library!r})\n"
        f"db = sessions.connect({path!r})\n"
        "error = sessions.refused('a second process', lambda: db.execute('SELECT 1 FROM t'))\n"
        "print(error, '|', sessions.ask(extension, 'SELECT etui_last_refusal()'))"
    )
    second = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()
    print("a second process:", second)
    check(f"process {os.getpid()} has it open" in second, "the holder is named")
    error = refused(
        "recovery while it is open", lambda: ask(extension, "SELECT etui_recover(?)", path)
    )
    print("etui_recover while it is open:", error)
    check(ask(db, "SELECT count(*) FROM t") == 2, "it works on after refusals")
    db.close()

    check(ask_plain(path, "SELECT count(*) FROM t") == 2, "plain SQLite after a clean close")
    check(ask_plain(path, "PRAGMA integrity_check") == "ok", "integrity_check")
    check("0 transactions" in ask(extension, "SELECT etui_recover(?)", path), "nothing to recover")
    print("etui_recover of what is not there:", refused("recovery of nothing", lambda: ask(
        extension, "SELECT etui_recover(?)", path + "-missing")))
    check(not os.path.exists(path + "-missing"), "recovery makes no file")

    # Options of one database.
    small = os.path.join(folder, "small.db")
    db = sqlite3.connect(f"file:{small}?vfs=etui&etui_log=65536", uri=True, isolation_level=None)
    db.executescript("PRAGMA journal_mode=WAL; CREATE TABLE t(n)")
    check(os.path.getsize(small + "-redo") == 65536, "etui_log decides the log's size")
    db.close()
    for bad in ("etui_log=many", "etui_log=1", "etui_growth=-1", "etui_memory="):
        error = refused(bad, lambda: sqlite3.connect(f"file:{small}?vfs=etui&{bad}", uri=True))
        why = ask(extension, "SELECT etui_last_refusal()")
        print(f"{bad}: {error} | {why}")
        check("number of bytes" in why or "too small" in why, "the parameter is told")

    # A program that is gone without closing: refused to plain SQLite, recovered by name.
    program = subprocess.Popen(
        [sys.executable, __file__, "write", library, path], stdout=subprocess.PIPE, text=True
    )
    for line in program.stdout:
        if int(line) >= 20:
            break
    program.kill()
    program.wait()
    print("plain SQLite after a kill:", refused("plain", lambda: ask_plain(path, "SELECT 1 FROM t")))
    print("etui_recover:", ask(extension, "SELECT etui_recover(?)", path))
    check(ask_plain(path, "SELECT max(number) FROM rows") >= 20, "nothing lost")

    # One that is killed when it has done nothing for a while leaves an ordinary database.
    program = subprocess.Popen(
        [sys.executable, __file__, "rest", library, path], stdout=subprocess.PIPE, text=True
    )
    rested = int(program.stdout.readline())
    time.sleep(IDLE)
    program.kill()
    program.wait()
    check(ask_plain(path, "SELECT max(number) FROM rows") == rested, "ordinary after a rest")
    check(ask_plain(path, "PRAGMA integrity_check") == "ok", "integrity_check after a rest")
    print("session: ok")


# Programs that are killed.


def rest(library, path):
    """Commits once, and then does nothing until it is killed."""
    extension = load(library)
    db = connect(path)
    number = ask(db, "SELECT max(number) FROM rows") + 1
    db.execute("INSERT INTO rows VALUES(?, 0, ?)", (number, body(number)))
    print(number, flush=True)
    time.sleep(600)
    extension.close()


def write(library, path):
    """Inserts and prints, until it is killed."""
    extension = load(library)
    db = connect(path, timeout=5)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("PRAGMA wal_autocheckpoint=50")
    db.execute("CREATE TABLE IF NOT EXISTS rows(number, part, body, PRIMARY KEY(number, part))")
    number = ask(db, "SELECT coalesce(max(number), 0) FROM rows")
    choice = random.Random(os.getpid())
    while True:
        number += 1
        db.execute("BEGIN")
        for part in range(ROWS):
            db.execute("INSERT INTO rows VALUES(?, ?, ?)", (number, part, body(number)))
        # Old rows are rewritten with what they had, so that pages change in several places.
        db.execute(
            "UPDATE rows SET body = body || '' WHERE number = ?", (choice.randint(1, number),)
        )
        db.execute("COMMIT")
        print(number, flush=True)
        if choice.random() < 0.02:
            db.execute("BEGIN")
            db.execute("DELETE FROM rows")
            db.execute("ROLLBACK")
        if choice.random() < 0.02:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if choice.random() < 0.005:
            db.execute("VACUUM")
    extension.close()


def verify(db, told, before, what):
    """What is in the database: all that was told, and at most one transaction more."""
    check(ask(db, "PRAGMA integrity_check") == "ok", f"{what}: integrity_check")
    tables = ask(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'rows'")
    if tables == 0:
        check(told == 0, f"{what}: told {told}, and there is no table")
        return 0
    last = ask(db, "SELECT coalesce(max(number), 0) FROM rows")
    check(told <= last <= told + 1, f"{what}: told {told}, there is {last}")
    check(ask(db, "SELECT count(*) FROM rows") == last * ROWS, f"{what}: rows of {last}")
    for number, text in db.execute("SELECT number, body FROM rows WHERE number > ?", (before,)):
        check(text == body(number), f"{what}: the body of {number}")
    return last


def kills(library, number, seed, folder):
    extension = load(library)
    chance = random.Random(seed)
    refusals = commits = unfinished = untold = recovered = 0
    path, last = "", 0
    for turn in range(number):
        if turn % 20 == 0:
            path, last = os.path.join(folder, f"{turn}.db"), 0
        what = f"kill {turn} of seed {seed}, {path}"
        program = subprocess.Popen(
            [sys.executable, __file__, "write", library, path], stdout=subprocess.PIPE
        )
        # Mostly between commits, sometimes while it starts and recovers.
        lines = [] if chance.random() < 0.2 else [program.stdout.readline()]
        moment = chance.choice((0.05, 0.2, 0.5)) * chance.random()
        timer = threading.Timer(moment, os.kill, (program.pid, signal.SIGKILL))
        timer.start()
        lines = b"".join([*lines, program.stdout.read()]).split(b"\n")
        timer.join()
        check(program.wait() == -signal.SIGKILL, f"{what}: it ended by itself")
        # The last line may be cut.
        complete = [int(line) for line in lines[:-1] if line]
        told = complete[-1] if complete else last
        check(not complete or complete == list(range(complete[0], told + 1)), f"{what}: order")
        try:
            with plain(path) as db:
                seen = verify(db, told, last, f"{what}, plain SQLite at once")
            check(seen >= told, f"{what}: plain SQLite sees less")
        except sqlite3.Error:
            refusals += 1
        if not complete:
            unfinished += 1
        if chance.random() < 0.2 and os.path.exists(path):
            ask(extension, "SELECT etui_recover(?)", path)
            recovered += 1
        else:
            with closing(connect(path)) as db:
                verify(db, told, last, f"{what}, opened again")
        with plain(path) as db:
            there = verify(db, told, last, f"{what}, plain SQLite after a clean close")
        untold += there - told
        commits += there - last
        last = there
    print(
        f"{number} kills (seed {seed}): {commits} transactions, nothing told was lost, integrity_check ok each"
        f" time; {refusals} times plain SQLite was refused before the file was opened again, {number - refusals}"
        f" times it was an ordinary one; {untold} commits were there but not yet told; {unfinished} were"
        f" killed before their first commit; {recovered} recovered by etui_recover, {number - recovered}"
        " by opening"
    )
    extension.close()


if __name__ == "__main__":
    started = time.monotonic()
    match sys.argv[1:]:
        case ["session", library]:
            with tempfile.TemporaryDirectory(prefix="etui-session-") as folder:
                session(library, folder)
        case ["write", library, path]:
            write(library, path)
        case ["rest", library, path]:
            rest(library, path)
        case ["kills", library, number, seed]:
            # What a failure left is kept.
            folder = tempfile.mkdtemp(prefix="etui-kills-")
            kills(library, int(number), int(seed), folder)
            shutil.rmtree(folder)
            print(f"{time.monotonic() - started:.0f} s")
        case _:
            raise SystemExit(__doc__)
