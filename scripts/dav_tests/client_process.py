"""Clients that run as programs of their own and print results as lines."""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

SERVICES = Path("/usr/share/dbus-1/services")
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <servicedir>{services}</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


def session_bus(work, *patterns):
    """Returns a command that runs another in a session bus which starts only the named services.

    A keyring, for example, would wait for its master password.
    """
    services = work / "services"
    services.mkdir(exist_ok=True)
    for pattern in patterns:
        for service in SERVICES.glob(f"{pattern}.service"):
            lines = service.read_text().splitlines(keepends=True)
            text = "".join(line for line in lines if not line.startswith("SystemdService"))
            (services / service.name).write_text(text)
    (work / "session.conf").write_text(BUS.format(services=services))
    return ["dbus-run-session", f"--config-file={work}/session.conf", "--"]


def told(server, chosen, kept):
    """Returns the environment by which a client's program learns of the server."""
    generated = server.import_generated(chosen.records)
    reader = server.add_reader()
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "DAV_URL": server.url,
        "DAV_USER": server.user,
        "DAV_PASSWORD": server.password,
        "DAV_READER": reader or "",
        "DAV_ONLY": chosen.only or "",
        "DAV_KEPT": str(kept),
        "DAV_PROGRAM": str(getattr(server, "program", "")),
        "DAV_STORE": str(getattr(server, "store", "")),
        **{f"DAV_GENERATED_{kind.upper()}": path for kind, path in (generated or {}).items()},
    }


def end_group(running):
    """Ends a process that leads a group, and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()


def run_client(report, command, environment, log_path, timeout, cwd=None):
    """Runs a program whose lines are results. It and what it started end with it, or when time is up."""
    program = Path(command[0]).name
    if not shutil.which(command[0]):
        report.skip("everything", f"{command[0]} is missing")
        return
    with open(log_path, "ab") as log:
        running = subprocess.Popen(
            command,
            env=environment,
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=log,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        is_late = threading.Event()

        def stop():
            is_late.set()
            end_group(running)

        timer = threading.Timer(timeout, stop)
        timer.start()
        try:
            seen = report.take(running.stdout)
            status = running.wait()
        finally:
            timer.cancel()
            end_group(running)
    tail = log_path.read_text(errors="replace")[-800:]
    if is_late.is_set():
        report.fail("in time", f"not done after {timeout} s; the log ends:\n{tail}")
    elif status != 0 or not seen:
        report.fail("to the end", f"{program} exited {status}; the log ends:\n{tail}")
