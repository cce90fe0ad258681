/* Makes Evolution Data Server durable: preloaded into its processes, it keeps their SQLite VFS
 * from becoming the default one.
 *
 * The server registers a VFS of its own ("e_sqlite3_vfs"; its mail library "camel_sqlite3_vfs")
 * with sqlite3_vfs_register(vfs, 1). That VFS passes everything on to SQLite's unix VFS but
 * xSync, which it answers at once and carries out later, up to five seconds after the reply. Here
 * the call is passed on with makeDflt = 0: databases are opened with the unix VFS, whose xSync
 * syncs before it answers. Nothing else changes: journal mode, pages, statements and indexes are
 * the server's. */

#define _GNU_SOURCE
#include <dlfcn.h>

struct sqlite3_vfs;

int
sqlite3_vfs_register (struct sqlite3_vfs *vfs, int make_default)
{
	int (*next) (struct sqlite3_vfs *, int);

	(void) make_default;
	*(void **) &next = dlsym (RTLD_NEXT, "sqlite3_vfs_register");
	/* 1: SQLITE_ERROR */
	return next ? next (vfs, 0) : 1;
}
