"""scripts/dav-tests.differences: failures that are known, with the reason for each."""

import fnmatch


class Differences:
    def __init__(self, entries):
        self.entries = entries
        self.used = set()

    @classmethod
    def read(cls, path):
        entries = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            pattern, separator, reason = line.partition(" : ")
            part, _, name = pattern.strip().partition(" ")
            if not separator or not name or not reason.strip():
                raise SystemExit(f"error: {path}:{number}: not `PART PATTERN : REASON`")
            entries.append((part, name.strip(), reason.strip()))
        return cls(entries)

    def reason(self, part, name, used=True):
        """Returns why a test's failure is known, or None."""
        for entry in self.entries:
            if entry[0] == part and fnmatch.fnmatchcase(name, entry[1]):
                if used:
                    self.used.add(entry)
                return entry[2]
        return None

    def unused(self, parts):
        """Returns the lines about these parts, which were run, that no failure matched."""
        return [" ".join(entry[:2]) for entry in self.entries if entry[0] in parts and entry not in self.used]
