"""caldavtester"""


def run_caldavtester(server, packages, report, work, kept, chosen):
    """caldavtester"""
    report.skip("everything", "not written")
