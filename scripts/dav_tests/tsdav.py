"""tsdav, the client library of many programs in JavaScript."""

from pathlib import Path

from .client_process import run_client, told

PACKAGE = "tsdav@2.3.4"
CLIENT = Path(__file__).parent / "tsdav_client.mjs"
TIMEOUT = 300


def run_tsdav(server, packages, report, work, kept, chosen):
    """tsdav: the library by which programs in JavaScript use address books and calendars"""
    folder = packages.node("node-tsdav", PACKAGE)
    environment = told(server, chosen, kept)
    run_client(report, ["node", str(CLIENT)], environment, kept / "tsdav.log", TIMEOUT, cwd=folder)
