# Runs one of SQLite's test files, command by command, so that one that fails does not hide the
# rest: testfixture prelude.tcl FILE. With ETUI_LIBRARY the VFS etui is the default one.

# SQLite's own VFS becomes the default whenever SQLite is shut down and set up again, which tests
# do: the extension is loaded anew then, before a database is opened.
proc etui_load {} {
  set ::etui_wanted 0
  etui_sqlite3 etui_loader :memory: -vfs unix
  etui_loader enable_load_extension 1
  etui_loader eval {SELECT load_extension($::env(ETUI_LIBRARY))}
  etui_loader close
}
if {[info exists env(ETUI_LIBRARY)]} {
  foreach command {sqlite3 sqlite3_open sqlite3_open16 sqlite3_open_v2} {
    rename $command etui_$command
    proc $command args [subst -nocommands {
      if {\$::etui_wanted} etui_load
      uplevel 1 [linsert \$args 0 etui_$command]
    }]
  }
  # The VFS that tests set up above ours would keep the wal-index to itself, and ours could not see
  # what SQLite publishes there: it hands those calls on.
  rename testvfs etui_testvfs
  proc testvfs args {
    if {"-noshm" ni $args && "-iversion" ni $args} {lappend args -fullshm 1}
    uplevel 1 [linsert $args 0 etui_testvfs]
  }
  rename sqlite3_shutdown etui_sqlite3_shutdown
  proc sqlite3_shutdown {} {
    set ::etui_wanted 1
    etui_sqlite3_shutdown
  }
  # Tests make the picture of a crash by copying a database and its WAL: here it is the log that
  # has to come along.
  rename file etui_file
  proc file args {
    if {[lindex $args 0] eq "copy"} {
      set from [lindex $args end-1]
      set log [regsub -- {-wal$} $from -redo]
      if {$log ne $from && ![etui_file exists $from] && [etui_file exists $log]} {
        set args [list copy -force $log [regsub -- {-wal$} [lindex $args end] -redo]]
      }
    }
    uplevel 1 [linsert $args 0 etui_file]
  }
  set ::etui_wanted 1
}

# What tests try in one process and in several is tried in one.
set ::G(valgrind) 1

set argv0 [lindex $argv 0]
set argv [list]
set argc 0
info script $argv0
set etui_channel [open $argv0]
set etui_line 0
set etui_begin 1
set etui_command ""
while {[gets $etui_channel etui_text] >= 0} {
  incr etui_line
  append etui_command $etui_text "\n"
  if {![info complete $etui_command] || [string index $etui_text end] eq "\\"} continue
  set etui_code [catch {uplevel #0 $etui_command} etui_message]
  # The file ends where it returns.
  if {$etui_code == 2} break
  if {$etui_code == 1} {
    puts "\n# ABORTED [file tail $argv0]:$etui_begin: [string map {\n { }} $etui_message]"
  }
  set etui_command ""
  set etui_begin [expr {$etui_line + 1}]
}
if {[string trim $etui_command] ne "" && ![info complete $etui_command]} {
  puts "\n# ABORTED [file tail $argv0]:$etui_begin: the file ends within a command"
}
finish_test
