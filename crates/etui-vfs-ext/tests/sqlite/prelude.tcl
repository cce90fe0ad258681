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
# Tests copy a database in use without its WAL, to see what a checkpoint has brought into the file.
# Such a copy is guarded and refused, as its log is missing: the guard is taken out of it.
proc etui_unguard {path} {
  if {![file isfile $path] || [catch {open $path r+b} channel]} return
  set header [read $channel 100]
  if {[string range $header 88 91] eq "etui" && ![etui_has_log $path [string range $header 72 87]]} {
    seek $channel 18
    puts -nonewline $channel [binary format H4 0202]
    seek $channel 72
    puts -nonewline $channel [string repeat \0 20]
  }
  close $channel
}
# Whether the log beside a database is the one that belongs to it.
proc etui_has_log {path lineage} {
  if {[catch {open $path-redo rb} channel]} {return 0}
  set headers [read $channel 8192]
  close $channel
  expr {[string first $lineage $headers] >= 0}
}

if {[info exists env(ETUI_LIBRARY)]} {
  foreach command {sqlite3 sqlite3_open sqlite3_open16 sqlite3_open_v2} {
    rename $command etui_$command
    proc $command args [subst -nocommands {
      if {\$::etui_wanted} etui_load
      if {"$command" eq "sqlite3"} {etui_unguard [lindex \$args 1]}
      uplevel 1 [linsert \$args 0 etui_$command]
    }]
  }
  # The VFS that tests set up above ours would keep the wal-index to itself, and ours could not see
  # what SQLite publishes there: it hands those calls on. In tests of the WAL neither it nor the
  # device that they simulate hides POWERSAFE_OVERWRITE, which ours needs there.
  set ::etui_of_wal [regexp {^(wal|pager2)} [file tail [lindex $argv 0]]]
  rename testvfs etui_testvfs
  proc testvfs {name args} {
    if {"-noshm" ni $args && "-iversion" ni $args} {lappend args -fullshm 1}
    catch {rename etui_vfs_$name {}}
    uplevel 1 [linsert $args 0 etui_testvfs $name]
    rename $name etui_vfs_$name
    proc $name args [subst -nocommands {
      if {$::etui_of_wal && [lindex \$args 0] eq "devchar" && [llength \$args] == 2} {
        set args [list devchar [concat [lindex \$args 1] powersafe_overwrite]]
      }
      set result [uplevel 1 [linsert \$args 0 etui_vfs_$name]]
      if {[lindex \$args 0] eq "delete"} {rename $name {}}
      return \$result
    }]
    return $name
  }
  rename sqlite3_simulate_device etui_simulate_device
  proc sqlite3_simulate_device args {
    if {!$::etui_of_wal} {
      return [uplevel 1 [linsert $args 0 etui_simulate_device]]
    }
    set at [lsearch $args -char]
    if {$at < 0} {
      lappend args -char powersafe_overwrite
    } else {
      lset args $at+1 [concat [lindex $args $at+1] powersafe_overwrite]
    }
    uplevel 1 [linsert $args 0 etui_simulate_device]
  }
  # Tests that fail system calls look whether they are SQLite's own VFS's, as they are.
  rename test_syscall etui_test_syscall
  proc test_syscall args {
    if {$args eq "defaultvfs"} {return unix}
    uplevel 1 [linsert $args 0 etui_test_syscall]
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
