//! End-to-end tests of the command: command lines, their output and exit codes.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod harness;
mod terminal;

mod addressbooks;
mod agenda_browser;
mod birthdays;
mod browser;
mod calendar;
mod conflicts;
mod contact_fields;
mod contacts;
mod dbus;
mod demo;
mod duplicates;
mod editor;
mod eds;
mod files;
mod foreign_cards;
mod help;
mod history;
mod json;
mod killed;
mod media;
mod media_playlists;
mod output;
mod palm;
mod people;
mod queries;
mod serve;
mod store;
mod tables;
mod transfer;
mod undo;
mod vdir;
mod vdir_programs;
mod watch;
