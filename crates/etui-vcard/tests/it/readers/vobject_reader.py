"""Reads vCards with python-vobject and prints their properties, one a line; see foreign_readers.rs."""

import re
import sys

import vobject

# python-vobject knows 2.1 and 3.0. In 4.0 it splits URIs at commas, so those are not compared.
URIS = {"GEO", "PHOTO"}


def escape(text):
    for plain, escaped in (("\\", "\\\\"), ("\n", "\\n"), ("|", "\\p"), (",", "\\c"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return text


def entries(value):
    return ",".join(escape(text) for text in (value if isinstance(value, list) else [value]))


def components(line):
    value = line.value
    if line.name == "N":
        parts = [value.family, value.given, value.additional, value.prefix, value.suffix]
    elif line.name == "ADR":
        parts = [value.box, value.extended, value.street, value.city, value.region, value.code, value.country]
    elif line.name == "ORG":
        parts = value
    else:
        parts = [value]
    return "|".join(entries(part) for part in parts)


def decode(text):
    # RFC 6868, which python-vobject does not know.
    return re.sub(r"\^[n'^]", lambda found: {"^n": "\n", "^'": '"', "^^": "^"}[found.group()], text)


def read(card):
    is_v4 = card.version.value == "4.0"
    for line in card.getChildren():
        if line.name == "VERSION" or is_v4 and line.name in URIS:
            continue
        params = {name.upper(): values for name, values in line.params.items()}
        types = {kind.lower() for kind in params.get("TYPE", [])}
        types |= {"pref"} if params.get("PREF") == ["1"] else set()
        if isinstance(line.value, bytes):
            print(f"{line.name};\t{line.value.hex()}")
            continue
        if line.name in ("BDAY", "ANNIVERSARY", "X-EVOLUTION-ANNIVERSARY"):
            year = params.get("X-APPLE-OMIT-YEAR", [""])[0]
            date = line.value.replace("-", "")
            date = date[len(year):] if year and date.startswith(year) else date
            print(f"DATE {line.name};\t{date}")
            continue
        print(f"{line.name};{','.join(sorted(types))}\t{components(line)}")
        for name in ("LABEL", "SORT-AS"):
            if name in params:
                print(f"{line.name} {name}\t{escape(decode(','.join(params[name])))}")


for text in re.split(r"(?<=\r\nEND:VCARD\r\n)", open(sys.argv[1], encoding="utf-8", newline="").read()):
    if text:
        read(vobject.readOne(text))
        print("=")
