/* Loads the extension as SQLite 3.36 would: old LIBRARY. It has to refuse, with a message. */
#include <dlfcn.h>
#include <sqlite3ext.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int version(void) { return 3036000; }

static char *format(const char *form, ...) {
    char *text = malloc(4096);
    va_list arguments;
    va_start(arguments, form);
    if (text) vsnprintf(text, 4096, form, arguments);
    va_end(arguments);
    return text;
}

int main(int argc, char **argv) {
    /* All other functions are missing: none may be called. */
    static sqlite3_api_routines routines;
    int (*init)(sqlite3 *, char **, const sqlite3_api_routines *);
    char *message = NULL;
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) return 1;
    routines.libversion_number = version;
    routines.mprintf = format;
    *(void **)&init = dlsym(library, "sqlite3_etuivfs_init");
    if (!init || init(NULL, &message, &routines) != SQLITE_ERROR || !message) return 1;
    puts(message);
    free(message);
    return 0;
}
