#!/usr/bin/python3
"""The core of a gallery: the pictures of a day, today if none is given, with thumbnails.

gallery.py [--once] [DAY]    DAY is 2024-05-03, 2024-05, 2024, or a range of them;
                             --once prints the pictures instead of showing them
"""
import datetime
import mmap
import struct
import sys

import dbus
from dbus.mainloop.glib import DBusGMainLoop

DBusGMainLoop(set_as_default=True)
NAME = "org.etui.Store1"
bus = dbus.SessionBus()
media = dbus.Interface(bus.get_object(NAME, "/org/etui/Store1/media"), "org.etui.Media1")
once = "--once" in sys.argv
day = next((word for word in sys.argv[1:] if word != "--once"), datetime.date.today().isoformat())
columns = ["name", "taken", "width", "height", "cover"]


def pictures():
    """Yields id, columns and thumbnail of each picture, a page at a time."""
    after = ""
    while True:
        options = {"columns": columns, "limit": 500, "after": after}
        rows, after, _ = media.Pictures(f"taken:{day}", options)
        file, _ = media.Covers(dbus.Array([values[-1] for _, _, values in rows], signature="s"), "large")
        with mmap.mmap(file.take(), 0, prot=mmap.PROT_READ) as data:
            at = 8
            for number, _, values in rows:
                (length,) = struct.unpack_from("=I", data, at + 12)
                yield number, values, data[at + 16 : at + 16 + length]
                at += 16 + length
        if not after:
            return


if once:
    for number, (name, taken, width, height, _), thumbnail in pictures():
        print(f"{taken} {name}, {width}x{height}, thumbnail of {len(thumbnail)} bytes")
    sys.exit()

import gi
gi.require_version("Gtk", "3.0")
from gi.repository import GdkPixbuf, Gtk

window, flow, scrolled = Gtk.Window(title=day), Gtk.FlowBox(), Gtk.ScrolledWindow()
for number, (name, *_), thumbnail in pictures():
    loader = GdkPixbuf.PixbufLoader()
    loader.write(thumbnail)
    loader.close()
    flow.add(Gtk.Image(pixbuf=loader.get_pixbuf(), tooltip_text=name))
scrolled.add(flow)
window.add(scrolled)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
