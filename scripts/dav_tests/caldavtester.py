"""CalDAVTester, by Apple and CalConnect."""

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

from .dav import Dav
from .server import EtuiFamily

# Its Python 2 library of iCalendar and vCard.
PYCALENDAR = "2.0"
USERS = 5
TIMEOUT = 300

# What the server has, in the words of scripts/server/serverinfo.xml. Tests that need more are ignored.
FEATURES = (
    "caldav",
    "carddav",
    "CalDAV text-match",
    "COPY Method",
    "MOVE Method",
    "Extended MKCOL",
    "brief",
    "ctag",
    "current-user-principal",
    "expand-property",
    "prefer",
    "prefer-minimal",
    "supported-component-sets",
    "sync-report",
    "sync-report-limit",
    "well-known",
)

# Files about what the server is not for: inboxes, sharing between people, attachments and the like.
LEFT_OUT = re.compile(
    r"implicit|sharing|schedul|proxy|attach|dropbox|directory|podding|vpoll|trash|polls|availability|webcal"
    r"|timezonest?d?service|timezones|server-info|private|location|default-a|global-"
)
LINE = re.compile(r"^\s+(Suite|Test): (.*?)(?:\s+\[(OK|FAILED|ERROR|IGNORED)\])?\s*$")


def run_caldavtester(server, packages, report, work, kept, chosen):
    """CalDAVTester, Apple's and CalConnect's: needs --caldavtester FOLDER, for no registry has it"""
    if not chosen.caldavtester:
        report.skip("everything", "no registry has its files; unpack them and name the folder by --caldavtester")
        return
    python = find_python2()
    if not python:
        report.skip("everything", "needs Python 2.7 (pyenv has it; `pyenv install 2.7.18`)")
        return
    if server.name != "etui":
        report.skip("everything", "is run against etui only: it needs several users")
        return
    library = packages.source("pycalendar", PYCALENDAR) / "src"
    tester = work / "tester"
    shutil.copytree(chosen.caldavtester, tester)
    tests = tester / "scripts" / "tests"
    files = sorted(path.relative_to(tests) for kind in ("CalDAV", "CardDAV") for path in (tests / kind).glob("*.xml"))
    files = [file for file in files if not LEFT_OUT.search(file.name)]
    if chosen.only:
        files = [file for file in files if chosen.only in str(file)]
    with EtuiFamily(chosen.program, kept, [f"user{number:02}" for number in range(1, USERS + 1)]) as family:
        write_server_info(tester / "scripts" / "server", family)
        for file in files:
            make_collections(family)
            run_file(report, tester, python, library, file, kept)


def find_python2():
    found = shutil.which("python2.7")
    if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
        return found
    known = sorted(Path("~/.pyenv/versions").expanduser().glob("2.7*/bin/python2.7"))
    return str(known[-1]) if known else None


def write_server_info(folder, family):
    """Writes si-etui.xml out of the template that comes with the tests."""
    tree = ET.parse(folder / "serverinfo.xml")
    root = tree.getroot()
    root.find("host").text = "127.0.0.1"
    root.find("nonsslport").text = str(family.port)
    features = root.find("features")
    features.clear()
    for name in FEATURES:
        ET.SubElement(features, "feature").text = name
    values = {
        "$root:": "/dav/",
        "$principalcollection:": "/dav/",
        "$calendar_home_items_initial_sync:": "[-,$calendar:/,$tasks:/]",
    }
    for number, (user, password) in enumerate(family.users.items(), 1):
        values |= {
            f"$userguid{number}:": user,
            f"$pswd{number}:": password,
            f"$principal{number}:": f"/dav/{user}/me/",
            f"$principaluri{number}:": f"/dav/{user}/me/",
            f"$principal{number}noslash:": f"/dav/{user}/me",
            f"$calendarhome{number}:": f"/dav/{user}/calendars",
            f"$calendarhomealt{number}:": f"/dav/{user}/calendars",
            f"$addressbookhome{number}:": f"/dav/{user}/addressbooks",
        }
    substitutions = root.find("substitutions")
    for key, value in values.items():
        element = ET.SubElement(substitutions, "substitution")
        ET.SubElement(element, "key").text = key
        ET.SubElement(element, "value").text = value
    tree.write(folder / "si-etui.xml", encoding="utf-8", xml_declaration=True)


def make_collections(family):
    """Makes each user's collections anew."""
    for user, password in family.users.items():
        client = Dav(family.url, user, password)
        homes = client.homes()
        for path in [path for home in homes for path in client.collections(home)]:
            client.request("DELETE", path)
        client.make_calendar("calendar")
        client.make_calendar("tasks")
        client.make_book("addressbook")


def run_file(report, tester, python, library, file, kept):
    log = kept / f"{file.with_suffix('').as_posix().replace('/', '.')}.log"
    command = [python, "testcaldav.py", "--print-details-onfail", "-s", "scripts/server/si-etui.xml", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(library)}
    with open(log, "wb") as output:
        try:
            subprocess.run(
                command,
                cwd=tester,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            report.fail(f"{file}", f"not done after {TIMEOUT} s")
            return
    suite, seen = "", 0
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        found = LINE.match(line)
        if not found:
            continue
        kind, name, state = found.groups()
        if kind == "Suite":
            suite = name
            if state == "IGNORED":
                report.skip(f"{file.with_suffix('')} {suite}", "the server has not what it needs")
                seen += 1
            continue
        full = f"{file.with_suffix('')} {suite}: {name}"
        seen += 1
        if state == "OK":
            report.ok(full)
        elif state == "IGNORED":
            report.skip(full, "the server has not what it needs")
        else:
            report.fail(full, f"see {log.name}")
    if not seen:
        report.fail(f"{file.with_suffix('')}", "\n".join(log.read_text(errors="replace").splitlines()[-5:]))
