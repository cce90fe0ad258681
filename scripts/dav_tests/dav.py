"""A small client, in the part of another device: makes collections, and changes what is in them."""

import base64
import http.client
import urllib.parse
import uuid
import xml.etree.ElementTree as ET
from dataclasses import dataclass

D = "{DAV:}"
CALDAV = "{urn:ietf:params:xml:ns:caldav}"
CARDDAV = "{urn:ietf:params:xml:ns:carddav}"

# What RFC 3986 lets a path have as it is, and what it does not.
ODD_UID = "a+b@c:d!e(f)g'h*i=k&l$m~n oü"

FIND = """<?xml version="1.0"?>
<d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:card="urn:ietf:params:xml:ns:carddav">
 <d:prop><d:current-user-principal/><c:calendar-home-set/><card:addressbook-home-set/><d:resourcetype/><d:getetag/>
 </d:prop></d:propfind>"""
MAKE_CALENDAR = """<?xml version="1.0"?>
<c:mkcalendar xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:set><d:prop>
 <d:displayname>{name}</d:displayname></d:prop></d:set></c:mkcalendar>"""
MAKE_BOOK = """<?xml version="1.0"?>
<d:mkcol xmlns:d="DAV:" xmlns:card="urn:ietf:params:xml:ns:carddav"><d:set><d:prop>
 <d:resourcetype><d:collection/><card:addressbook/></d:resourcetype>
 <d:displayname>{name}</d:displayname></d:prop></d:set></d:mkcol>"""


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes


class Refused(Exception):
    """A server's answer is not the expected one."""


class Dav:
    def __init__(self, url, user, password):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.path = parts.hostname, parts.port or 80, parts.path or "/"
        self.credentials = base64.b64encode(f"{user}:{password}".encode()).decode()

    def request(self, method, path, body=None, headers=None, expected=None):
        headers = {"Authorization": f"Basic {self.credentials}", **(headers or {})}
        data = body.encode() if isinstance(body, str) else body
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(method, path, body=data, headers=headers)
            answer = connection.getresponse()
            result = Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()
        if expected and result.status not in expected:
            raise Refused(f"{method} {path} was answered {result.status}: {result.body[:300].decode(errors='replace')}")
        return result

    def propfind(self, path, depth=0):
        """Returns (href, element) of each response."""
        headers = {"Depth": str(depth), "Content-Type": "application/xml"}
        answer = self.request("PROPFIND", path, FIND, headers, expected=(207,))
        for response in ET.fromstring(answer.body).iter(f"{D}response"):
            yield response.findtext(f"{D}href"), response

    def found(self, path, *names):
        """Returns the href within a property of a resource."""
        (_, response), *_ = self.propfind(path)
        for prop in response.iter(names[0]):
            if href := prop.findtext(f"{D}href"):
                return urllib.parse.urlsplit(href).path
        raise Refused(f"{path} has no {names[0]}")

    def homes(self):
        """Returns the home of calendars and that of address books."""
        principal = self.found(self.path, f"{D}current-user-principal")
        return (
            self.found(principal, f"{CALDAV}calendar-home-set"),
            self.found(principal, f"{CARDDAV}addressbook-home-set"),
        )

    def collections(self, home):
        """Returns the paths of the collections in a home."""
        children = [(urllib.parse.urlsplit(href).path, response) for href, response in self.propfind(home, 1)]
        return [path for path, found in children if path != home and found.find(f".//{D}collection") is not None]

    def make_calendar(self, name):
        path = f"{self.homes()[0]}{name}/"
        headers = {"Content-Type": "application/xml"}
        self.request("MKCALENDAR", path, MAKE_CALENDAR.format(name=name), headers, expected=(201,))
        return path

    def make_book(self, name):
        path = f"{self.homes()[1]}{name}/"
        headers = {"Content-Type": "application/xml"}
        self.request("MKCOL", path, MAKE_BOOK.format(name=name), headers, expected=(201,))
        return path

    def list(self, collection):
        """Returns the ETag of each resource, by its path."""
        found = {}
        for href, response in self.propfind(collection, 1):
            path = urllib.parse.urlsplit(href).path
            if response.find(f".//{D}collection") is None:
                found[path] = response.findtext(f".//{D}getetag")
        return found

    def get(self, path):
        return self.request("GET", path, expected=(200,)).body.decode()

    def put(self, path, text, **conditions):
        kind = "text/vcard" if text.startswith("BEGIN:VCARD") else "text/calendar"
        headers = {"Content-Type": f"{kind}; charset=utf-8"}
        headers.update({name.replace("_", "-"): value for name, value in conditions.items()})
        return self.request("PUT", path, text, headers, expected=(200, 201, 204))

    def delete(self, path):
        return self.request("DELETE", path, expected=(200, 204))

    def texts(self, collection):
        """Returns the text of each resource, by its path."""
        answers = {path: self.request("GET", path, expected=(200, 404)) for path in self.list(collection)}
        # What a client removed meanwhile is left out.
        return {path: answer.body.decode() for path, answer in answers.items() if answer.status == 200}

    def find(self, collection, part):
        """Returns the path of the only resource whose text has a part, or None."""
        found = [path for path, text in self.texts(collection).items() if part in text]
        if len(found) > 1:
            raise Refused(f"{part!r} is in {found}")
        return found[0] if found else None


def lines(*parts):
    return "".join(f"{part}\r\n" for part in parts)


def card(name, uid=None, phone="+49 30 5550100", **more):
    """Returns a vCard 3.0 of a person with a given and a family name."""
    given, _, family = name.partition(" ")
    extra = [f"{key}:{value}" for key, value in more.items()]
    return lines(
        "BEGIN:VCARD",
        "VERSION:3.0",
        f"UID:{uid or uuid.uuid4()}",
        f"FN:{name}",
        f"N:{family};{given};;;",
        f"TEL;TYPE=CELL:{phone}",
        *extra,
        "END:VCARD",
    )


def event(summary, uid=None, start="20300105T100000Z", end="20300105T110000Z"):
    """Returns a calendar object with one event."""
    return lines(
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//etui//dav-tests//EN",
        "BEGIN:VEVENT",
        f"UID:{uid or uuid.uuid4()}",
        "DTSTAMP:20300101T000000Z",
        f"DTSTART:{start}",
        f"DTEND:{end}",
        f"SUMMARY:{summary}",
        "END:VEVENT",
        "END:VCALENDAR",
    )
