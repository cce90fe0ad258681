/* What the clients of Evolution Data Server have in common; the source of each stands behind this
 * one. A client obeys commands on its standard input, one a line, words parted by tabs, and
 * answers each by one line of JSON:
 *
 *   {"ns": [...], "count": n, "digest": "..."}     what it took (CLOCK_MONOTONIC), what came back
 *   {"error": "..."}
 *
 * The digest is FNV-1a (64 bits) over lines, sorted, which the client's own source tells of. It is
 * made after the clock has stopped. */

#include <libedataserver/libedataserver.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a command gives back. */
typedef struct {
	GArray *ns;
	gint64 count;
	gchar *digest;
} Answer;

/* The client's own: the types that sources need, and what its commands do. */
static void ensure_types (void);
static gboolean obey (gchar **words, Answer *answer, GError **error);

static ESourceRegistry *registry;

static gint64
now_ns (void)
{
	struct timespec t;
	clock_gettime (CLOCK_MONOTONIC, &t);
	return (gint64) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
took (Answer *answer, gint64 begun)
{
	gint64 ns = now_ns () - begun;
	g_array_append_val (answer->ns, ns);
}

static gint
compare_lines (gconstpointer a, gconstpointer b)
{
	return strcmp (*(gchar *const *) a, *(gchar *const *) b);
}

static GPtrArray *
new_lines (void)
{
	return g_ptr_array_new_with_free_func (g_free);
}

/* A line "FIRST <tab> SECOND <newline>". */
static void
add_line (GPtrArray *lines, const gchar *first, const gchar *second)
{
	g_ptr_array_add (lines, g_strdup_printf ("%s\t%s\n", first ? first : "", second ? second : ""));
}

/* Sorts them, and takes those that stand twice once, if asked to. */
static void
sort_lines (GPtrArray *lines, gboolean once)
{
	guint i;

	g_ptr_array_sort (lines, compare_lines);
	for (i = lines->len; once && i > 1; i--) {
		if (g_str_equal (lines->pdata[i - 1], lines->pdata[i - 2]))
			g_ptr_array_remove_index (lines, i - 1);
	}
}

/* The answer's digest; the lines are gone then. */
static void
answer_lines (Answer *answer, GPtrArray *lines)
{
	guint64 hash = 0xcbf29ce484222325u;
	guint i;

	sort_lines (lines, FALSE);
	for (i = 0; i < lines->len; i++) {
		const guchar *c = g_ptr_array_index (lines, i);
		for (; *c; c++)
			hash = (hash ^ *c) * 0x100000001b3u;
	}
	g_ptr_array_free (lines, TRUE);
	g_free (answer->digest);
	answer->digest = g_strdup_printf ("%016" G_GINT64_MODIFIER "x", hash);
}

static gboolean
refuse (GError **error, const gchar *why)
{
	g_set_error_literal (error, G_FILE_ERROR, G_FILE_ERROR_INVAL, why);
	return FALSE;
}

static gboolean
need_registry (GError **error)
{
	if (!registry)
		registry = e_source_registry_new_sync (NULL, error);
	return registry != NULL;
}

/* A new source of this computer's own, by which the server makes a book or calendar. */
static ESource *
new_source (const gchar *uid, const gchar *extension, GError **error)
{
	ESource *source = e_source_new_with_uid (uid, NULL, error);

	if (!source)
		return NULL;
	e_source_set_display_name (source, uid);
	e_source_set_parent (source, "local-stub");
	e_source_backend_set_backend_name (e_source_get_extension (source, extension), "local");
	return source;
}

static gboolean
commit_source (ESource *source, GError **error)
{
	gboolean done = need_registry (error) && e_source_registry_commit_source_sync (registry, source, NULL, error);

	g_object_unref (source);
	return done;
}

/* The registry tells of a new source by a signal; waits for it at most 10 s. */
static ESource *
find_source (const gchar *uid, GError **error)
{
	gint64 until = now_ns () + (gint64) 10 * 1000000000;
	ESource *source;

	if (!need_registry (error))
		return NULL;
	while (!(source = e_source_registry_ref_source (registry, uid)) && now_ns () < until) {
		if (!g_main_context_iteration (NULL, FALSE))
			g_usleep (1000);
	}
	if (!source)
		g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "there is no %s", uid);
	return source;
}

/* Lets a client go. It is gone when the last reference is: what waits in the main context holds
 * some. */
static gboolean
leave (EClient *client, Answer *answer, GError **error)
{
	GWeakRef left;
	GObject *still;
	gint64 begun;
	gboolean done = TRUE;

	g_weak_ref_init (&left, client);
	begun = now_ns ();
	g_object_unref (client);
	while ((still = g_weak_ref_get (&left))) {
		g_object_unref (still);
		if (now_ns () - begun > (gint64) 10 * 1000000000) {
			done = refuse (error, "it is still in use");
			break;
		}
		if (!g_main_context_iteration (NULL, FALSE))
			g_usleep (20);
	}
	took (answer, begun);
	g_weak_ref_clear (&left);
	return done;
}

static void
tell (const Answer *answer, const GError *error)
{
	guint i;

	if (error) {
		gchar *message = g_strdelimit (g_strdup (error->message), "\"\\\n\r\t", ' ');
		printf ("{\"error\": \"%s\"}\n", message);
		g_free (message);
	} else {
		printf ("{\"ns\": [");
		for (i = 0; i < answer->ns->len; i++)
			printf ("%s%" G_GINT64_FORMAT, i ? ", " : "", g_array_index (answer->ns, gint64, i));
		printf ("], \"count\": %" G_GINT64_FORMAT ", \"digest\": \"%s\"}\n",
			answer->count, answer->digest ? answer->digest : "");
	}
	fflush (stdout);
}

int
main (void)
{
	gchar *line = NULL;
	size_t space = 0;
	ssize_t length;

	/* Extensions of a source are found by their registered types. */
	ensure_types ();
	while ((length = getline (&line, &space, stdin)) > 0) {
		Answer answer = { g_array_new (FALSE, FALSE, sizeof (gint64)), 0, NULL };
		GError *error = NULL;
		gchar **words;

		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		words = g_strsplit (line, "\t", -1);
		if (!obey (words, &answer, &error) && !error)
			g_set_error (&error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s failed", words[0]);
		tell (&answer, error);
		g_clear_error (&error);
		g_strfreev (words);
		g_array_free (answer.ns, TRUE);
		g_free (answer.digest);
	}
	free (line);
	return 0;
}
