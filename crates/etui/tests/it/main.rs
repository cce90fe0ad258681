//! All tests of the library through its public interface, in one program: it is linked once, and its
//! tests share the cores. What measures or changes its whole process is in one of its own, and so is
//! what starts many others (`etui_testkit::own_process`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alarms;
mod backup;
mod bad_input;
mod book;
mod calendar;
mod calendar_damage;
mod calendar_find;
mod calendar_hostile;
mod calendar_import;
mod calendar_ranges;
mod changes;
mod closing;
mod cold;
mod collections;
mod contact_photos;
mod contacts;
mod datebook;
mod datebook_random;
mod devices;
mod duplicates;
mod edges;
mod files;
mod filters;
mod finding;
mod floating_zone;
mod given_records;
mod group;
mod history;
mod import;
mod kill;
mod kill_large;
mod log;
mod media;
mod media_fields;
mod media_foreign;
mod media_hostile;
mod media_playlists;
mod media_states;
mod media_thumbnails;
mod media_writes;
mod memory;
mod migration;
mod names_and_phones;
mod opening;
mod processes;
mod purge;
mod read_only_and_full_disk;
mod redo;
mod resources;
mod second_sqlite;
mod settings;
mod snapshots;
mod sql;
mod support;
mod transfer;
mod undo;
mod views;
mod zones;
