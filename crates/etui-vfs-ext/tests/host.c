/* A C program that uses the extension: host LIBRARY DATABASE. Run by scripts/test-extension. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static int failed(sqlite3 *db, const char *what) {
    fprintf(stderr, "FAILED: %s: %s\n", what, db ? sqlite3_errmsg(db) : "");
    return 1;
}

static int print(void *unused, int count, char **values, char **names) {
    (void)unused;
    (void)names;
    for (int i = 0; i < count; i++) printf("%s\n", values[i] ? values[i] : "NULL");
    return 0;
}

int main(int argc, char **argv) {
    sqlite3 *loader, *db;
    char *error = NULL, name[4096];
    int on = 1;
    if (argc != 3) return failed(NULL, "usage: host LIBRARY DATABASE");
    /* Any connection will do; the VFS stays for the life of the process. */
    if (sqlite3_open(":memory:", &loader)) return failed(loader, "open");
    if (sqlite3_db_config(loader, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, on, NULL))
        return failed(loader, "enable");
    if (sqlite3_load_extension(loader, argv[1], NULL, &error)) {
        fprintf(stderr, "FAILED: load: %s\n", error);
        return 1;
    }
    if (!sqlite3_vfs_find("etui")) return failed(NULL, "no VFS etui");
    snprintf(name, sizeof name, "file:%s?vfs=etui", argv[2]);
    if (sqlite3_open_v2(name, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL))
        return failed(db, "open by the VFS");
    if (sqlite3_exec(db, "PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES('from C');"
                         "SELECT x FROM t", print, NULL, &error))
        return failed(db, "exec");
    if (sqlite3_close(db)) return failed(db, "close");
    /* By its name as a VFS, as well. */
    if (sqlite3_open_v2(argv[2], &db, SQLITE_OPEN_READWRITE, "etui")) return failed(db, "open again");
    if (sqlite3_exec(db, "PRAGMA integrity_check", print, NULL, &error)) return failed(db, "check");
    if (sqlite3_close(db) || sqlite3_close(loader)) return failed(db, "close again");
    return 0;
}
