/* Makes Evolution Data Server durable: preloaded into its processes, it has what a save wrote be
 * safe before the save is answered.
 *
 * Contacts: the server registers a VFS of its own ("e_sqlite3_vfs"; its mail library
 * "camel_sqlite3_vfs") with sqlite3_vfs_register(vfs, 1). That VFS passes everything on to
 * SQLite's unix VFS but xSync, which it answers at once and carries out later, up to five seconds
 * after the reply. Here the call is passed on with makeDflt = 0: databases are opened with the
 * unix VFS, whose xSync syncs before it answers. Nothing else changes: journal mode, pages,
 * statements and indexes are the server's.
 *
 * Calendars: the server keeps a calendar in memory and as one text file, which it writes anew
 * when it is idle after a change (g_idle_add), into a second file that is moved to the place of
 * the first (g_file_move). Here it writes at once, before the reply, and the move is preceded by
 * a flush of the file and followed by one of its directory. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

/* Whether an address is in the part of the server that keeps calendars in files. */
static int
is_of_calendar_files (const void *address)
{
	Dl_info info;

	return dladdr (address, &info) && info.dli_fname && strstr (info.dli_fname, "libecalbackendfile.");
}

unsigned
g_idle_add (int (*work) (void *), void *data)
{
	unsigned (*next) (int (*) (void *), void *);

	if (is_of_calendar_files ((const void *) work)) {
		/* Not waiting for anything any more: 0, as no source has it. */
		while (work (data))
			usleep (1000);
		return 0;
	}
	*(void **) &next = dlsym (RTLD_NEXT, "g_idle_add");
	return next ? next (work, data) : 0;
}

static void
flush (const char *path, int flags)
{
	int fd = open (path, flags | O_CLOEXEC);

	if (fd >= 0) {
		fsync (fd);
		close (fd);
	}
}

int
g_file_move (void *from, void *to, int flags, void *cancel, void *progress, void *data, void **error)
{
	int (*next) (void *, void *, int, void *, void *, void *, void **);
	char *(*path_of) (void *);
	void (*release) (void *);
	int mine = is_of_calendar_files (__builtin_return_address (0)), done;
	char *path;

	*(void **) &next = dlsym (RTLD_NEXT, "g_file_move");
	*(void **) &path_of = dlsym (RTLD_NEXT, "g_file_get_path");
	*(void **) &release = dlsym (RTLD_NEXT, "g_free");
	if (!next)
		return 0;
	path = mine && path_of && release ? path_of (from) : NULL;
	if (path)
		flush (path, O_RDONLY);
	done = next (from, to, flags, cancel, progress, data, error);
	if (path) {
		char *slash = strrchr (path, '/');
		if (slash && slash != path) {
			*slash = '\0';
			flush (path, O_RDONLY | O_DIRECTORY);
		}
		release (path);
	}
	return done;
}
