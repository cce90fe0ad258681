"""Runs a suite of pytest and takes its results."""

import os
import subprocess
import xml.etree.ElementTree as ET


def run_pytest(report, python, folder, kept, arguments, environment, prefix="", timeout=1800):
    """Runs pytest in a folder; what it prints goes to a file in `kept`."""
    results = kept / f"{prefix or 'pytest'}.xml".replace(" ", "")
    output = kept / f"{prefix or 'pytest'}.log".replace(" ", "")
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={results}", *arguments]
    with open(output, "wb") as log:
        try:
            subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            report.fail(f"{prefix}suite", f"not done after {timeout} s")
    if not results.exists():
        report.fail(f"{prefix}suite", output.read_text(errors="replace")[-800:])
        return
    for case in ET.parse(results).iter("testcase"):
        name = f"{prefix}{case.get('classname').rpartition('.')[2]}.{case.get('name')}"
        problems = [child for child in case if child.tag in ("failure", "error")]
        if problems:
            report.fail(name, (problems[0].get("message") or "")[:600])
        elif (skipped := case.find("skipped")) is not None:
            report.skip(name, (skipped.get("message") or "").splitlines()[0][:120] if skipped.get("message") else "")
        else:
            report.ok(name)
