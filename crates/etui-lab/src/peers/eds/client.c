/* A client of Evolution Data Server's address book that obeys commands on its standard input,
 * one a line, words parted by tabs, and answers each by one line of JSON:
 *
 *   {"ns": [...], "count": n, "digest": "..."}     what it took (CLOCK_MONOTONIC), what came back
 *   {"error": "..."}
 *
 *   create BOOK TYPE        makes a book; TYPE: shipped (no summary setup) or tuned (all indexes)
 *   connect BOOK WAY        WAY: dbus, or direct (reads go to the database in this process)
 *   load FILE               reads vCards from a file and parses them; nothing is sent
 *   save FROM COUNT         saves loaded contacts singly, each timed
 *   batch FROM COUNT        saves them in one call
 *   all                     fetches every contact
 *   names                   fetches every contact and reads its name; digest
 *   hold                    the same, and keeps them until the book is left
 *   get TIMES UID...        fetches by UID, one after another, each timed; TIMES rounds
 *   many TIMES UID...       fetches by UID, all in one query; digest
 *   find TIMES SEXP         the contacts that a query means; digest
 *   uids TIMES SEXP         their UIDs alone; digest, names left empty
 *   view                    every contact through a view that asks for UID and name only
 *   screen TIMES COUNT      a new cursor by family and given name, and its first contacts
 *   start BOOK WAY COUNT    connect and screen in one, as an application begins
 *   close                   leaves the book
 *
 * The digest is FNV-1a (64 bits) over the lines "UID <tab> name <newline>", sorted by UID. It is
 * made after the clock has stopped. */

#include <errno.h>
#include <libebook/libebook.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* As e_book_query_any_field_contains ("") has it. */
#define EVERYTHING "(contains \"x-evolution-any-field\" \"\")"

static ESourceRegistry *registry;
static EBookClient *book;
static GPtrArray *loaded;
static GSList *held;

static gint64
now_ns (void)
{
	struct timespec t;
	clock_gettime (CLOCK_MONOTONIC, &t);
	return (gint64) t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What a command gives back. */
typedef struct {
	GArray *ns;
	gint64 count;
	gchar *digest;
} Answer;

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

static gchar *
digest_of_lines (GPtrArray *lines)
{
	guint64 hash = 0xcbf29ce484222325u;
	guint i;

	g_ptr_array_sort (lines, compare_lines);
	for (i = 0; i < lines->len; i++) {
		const guchar *c = g_ptr_array_index (lines, i);
		for (; *c; c++)
			hash = (hash ^ *c) * 0x100000001b3u;
	}
	g_ptr_array_free (lines, TRUE);
	return g_strdup_printf ("%016" G_GINT64_MODIFIER "x", hash);
}

static gchar *
digest_of (GSList *contacts)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
	GSList *at;

	for (at = contacts; at; at = at->next) {
		gchar *uid = e_contact_get (at->data, E_CONTACT_UID);
		gchar *name = e_contact_get (at->data, E_CONTACT_FULL_NAME);
		g_ptr_array_add (lines, g_strdup_printf ("%s\t%s\n", uid ? uid : "", name ? name : ""));
		g_free (uid);
		g_free (name);
	}
	return digest_of_lines (lines);
}

/* The same of UIDs alone. */
static gchar *
digest_of_uids (GSList *uids)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
	GSList *at;

	for (at = uids; at; at = at->next)
		g_ptr_array_add (lines, g_strdup_printf ("%s\t\n", (const gchar *) at->data));
	return digest_of_lines (lines);
}

static void
answer_contacts (Answer *answer, GSList *contacts)
{
	answer->count = g_slist_length (contacts);
	g_free (answer->digest);
	answer->digest = digest_of (contacts);
}

static gboolean
need_registry (GError **error)
{
	if (!registry)
		registry = e_source_registry_new_sync (NULL, error);
	return registry != NULL;
}

static gboolean
create (const gchar *uid, gboolean tuned, GError **error)
{
	ESource *source = e_source_new_with_uid (uid, NULL, error);
	ESourceBackend *backend;
	gboolean done;

	if (!source)
		return FALSE;
	e_source_set_display_name (source, uid);
	e_source_set_parent (source, "local-stub");
	backend = e_source_get_extension (source, E_SOURCE_EXTENSION_ADDRESS_BOOK);
	e_source_backend_set_backend_name (backend, "local");
	if (tuned) {
		ESourceBackendSummarySetup *setup =
			e_source_get_extension (source, E_SOURCE_EXTENSION_BACKEND_SUMMARY_SETUP);
		/* full_name means full, family or given: without all three its queries scan. */
		e_source_backend_summary_setup_set_summary_fields (setup,
			E_CONTACT_FULL_NAME, E_CONTACT_FAMILY_NAME, E_CONTACT_GIVEN_NAME,
			E_CONTACT_EMAIL, E_CONTACT_TEL, 0);
		e_source_backend_summary_setup_set_indexed_fields (setup,
			E_CONTACT_FULL_NAME, E_BOOK_INDEX_PREFIX,
			E_CONTACT_FULL_NAME, E_BOOK_INDEX_SUFFIX,
			E_CONTACT_FAMILY_NAME, E_BOOK_INDEX_PREFIX,
			E_CONTACT_FAMILY_NAME, E_BOOK_INDEX_SUFFIX,
			E_CONTACT_FAMILY_NAME, E_BOOK_INDEX_SORT_KEY,
			E_CONTACT_GIVEN_NAME, E_BOOK_INDEX_PREFIX,
			E_CONTACT_GIVEN_NAME, E_BOOK_INDEX_SUFFIX,
			E_CONTACT_GIVEN_NAME, E_BOOK_INDEX_SORT_KEY,
			E_CONTACT_EMAIL, E_BOOK_INDEX_PREFIX,
			E_CONTACT_EMAIL, E_BOOK_INDEX_SUFFIX,
			E_CONTACT_TEL, E_BOOK_INDEX_PREFIX,
			E_CONTACT_TEL, E_BOOK_INDEX_SUFFIX,
			E_CONTACT_TEL, E_BOOK_INDEX_PHONE,
			0);
	}
	done = need_registry (error) && e_source_registry_commit_source_sync (registry, source, NULL, error);
	g_object_unref (source);
	return done;
}

/* The registry tells of a new book by a signal; waits for it at most 10 s. */
static ESource *
find_source (const gchar *uid)
{
	gint64 until = now_ns () + (gint64) 10 * 1000000000;
	ESource *source;

	while (!(source = e_source_registry_ref_source (registry, uid)) && now_ns () < until) {
		if (!g_main_context_iteration (NULL, FALSE))
			g_usleep (1000);
	}
	return source;
}

static gboolean
join (const gchar *uid, const gchar *way, GError **error)
{
	ESource *source;
	EClient *client;

	if (!need_registry (error))
		return FALSE;
	source = find_source (uid);
	if (!source) {
		g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "there is no book %s", uid);
		return FALSE;
	}
	/* -1: do not wait for a server behind the backend; a local book has none. */
	if (g_str_equal (way, "direct"))
		client = e_book_client_connect_direct_sync (registry, source, (guint32) -1, NULL, error);
	else
		client = e_book_client_connect_sync (source, (guint32) -1, NULL, error);
	g_object_unref (source);
	if (!client)
		return FALSE;
	book = E_BOOK_CLIENT (client);
	return TRUE;
}

static gboolean
load (const gchar *path, Answer *answer, GError **error)
{
	gchar *text, *at, *end;

	if (!g_file_get_contents (path, &text, NULL, error))
		return FALSE;
	if (loaded)
		g_ptr_array_free (loaded, TRUE);
	loaded = g_ptr_array_new_with_free_func (g_object_unref);
	for (at = text; (end = strstr (at, "END:VCARD")); at = end) {
		gchar *card;
		EContact *contact;

		end += strlen ("END:VCARD");
		while (*end == '\r' || *end == '\n')
			end++;
		card = g_strndup (at, end - at);
		contact = e_contact_new_from_vcard (card);
		g_free (card);
		/* Parses it. */
		e_contact_get_const (contact, E_CONTACT_FULL_NAME);
		g_ptr_array_add (loaded, contact);
	}
	g_free (text);
	answer->count = loaded->len;
	return TRUE;
}

static gboolean
save (guint from, guint count, gboolean singly, Answer *answer, GError **error)
{
	GSList *some = NULL, *uids = NULL;
	guint i;
	gint64 begun;
	gboolean done = TRUE;

	if (!loaded || from + count > loaded->len) {
		g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "fewer contacts are loaded");
		return FALSE;
	}
	answer->count = count;
	if (singly) {
		for (i = 0; i < count && done; i++) {
			gchar *uid = NULL;
			begun = now_ns ();
			done = e_book_client_add_contact_sync (book, g_ptr_array_index (loaded, from + i),
				E_BOOK_OPERATION_FLAG_NONE, &uid, NULL, error);
			took (answer, begun);
			g_free (uid);
		}
		return done;
	}
	for (i = count; i > 0; i--)
		some = g_slist_prepend (some, g_ptr_array_index (loaded, from + i - 1));
	begun = now_ns ();
	done = e_book_client_add_contacts_sync (book, some, E_BOOK_OPERATION_FLAG_NONE, &uids, NULL, error);
	took (answer, begun);
	g_slist_free (some);
	g_slist_free_full (uids, g_free);
	return done;
}

static gboolean
all (gboolean names, gboolean keep, Answer *answer, GError **error)
{
	GSList *contacts = NULL, *at;
	gint64 begun = now_ns ();

	if (!e_book_client_get_contacts_sync (book, EVERYTHING, &contacts, NULL, error))
		return FALSE;
	if (names) {
		for (at = contacts; at; at = at->next)
			e_contact_get_const (at->data, E_CONTACT_FULL_NAME);
	}
	took (answer, begun);
	answer->count = g_slist_length (contacts);
	if (keep) {
		held = contacts;
		return TRUE;
	}
	if (names)
		answer_contacts (answer, contacts);
	g_slist_free_full (contacts, g_object_unref);
	return TRUE;
}

static gboolean
get (guint times, gchar **uids, Answer *answer, GError **error)
{
	GSList *contacts = NULL;
	guint round;
	gchar **uid;

	for (round = 0; round < times; round++) {
		g_slist_free_full (contacts, g_object_unref);
		contacts = NULL;
		for (uid = uids; *uid; uid++) {
			EContact *contact = NULL;
			gint64 begun = now_ns ();
			if (!e_book_client_get_contact_sync (book, *uid, &contact, NULL, error))
				return FALSE;
			took (answer, begun);
			contacts = g_slist_prepend (contacts, contact);
		}
	}
	answer_contacts (answer, contacts);
	g_slist_free_full (contacts, g_object_unref);
	return TRUE;
}

static gboolean
find (guint times, const gchar *sexp, Answer *answer, GError **error)
{
	GSList *contacts = NULL;
	guint round;

	for (round = 0; round < times; round++) {
		gint64 begun;
		g_slist_free_full (contacts, g_object_unref);
		contacts = NULL;
		begun = now_ns ();
		if (!e_book_client_get_contacts_sync (book, sexp, &contacts, NULL, error))
			return FALSE;
		took (answer, begun);
	}
	answer_contacts (answer, contacts);
	g_slist_free_full (contacts, g_object_unref);
	return TRUE;
}

static gboolean
find_uids (guint times, const gchar *sexp, Answer *answer, GError **error)
{
	GSList *uids = NULL;
	guint round;

	for (round = 0; round < times; round++) {
		gint64 begun;
		g_slist_free_full (uids, g_free);
		uids = NULL;
		begun = now_ns ();
		if (!e_book_client_get_contacts_uids_sync (book, sexp, &uids, NULL, error))
			return FALSE;
		took (answer, begun);
	}
	answer->count = g_slist_length (uids);
	g_free (answer->digest);
	answer->digest = digest_of_uids (uids);
	g_slist_free_full (uids, g_free);
	return TRUE;
}

static gboolean
many (guint times, gchar **uids, Answer *answer, GError **error)
{
	/* The only way to ask for many at once: a disjunction. */
	GString *sexp = g_string_new ("(or");
	gchar **uid;
	gboolean done;

	for (uid = uids; *uid; uid++)
		g_string_append_printf (sexp, " (is \"id\" \"%s\")", *uid);
	g_string_append (sexp, ")");
	done = find (times, sexp->str, answer, error);
	g_string_free (sexp, TRUE);
	return done;
}

/* A view's contacts as they come. */
typedef struct {
	GMainLoop *loop;
	GSList *contacts;
} Viewed;

static void
objects_added (EBookClientView *view, GSList *objects, Viewed *viewed)
{
	GSList *at;
	(void) view;
	for (at = objects; at; at = at->next)
		viewed->contacts = g_slist_prepend (viewed->contacts, g_object_ref (at->data));
}

static void
view_complete (EBookClientView *view, const GError *error, Viewed *viewed)
{
	(void) view;
	(void) error;
	g_main_loop_quit (viewed->loop);
}

static gboolean
too_late (gpointer loop)
{
	g_main_loop_quit (loop);
	return G_SOURCE_REMOVE;
}

static gboolean
through_view (Answer *answer, GError **error)
{
	Viewed viewed = { g_main_loop_new (NULL, FALSE), NULL };
	EBookClientView *view = NULL;
	GSList *fields = NULL, *at;
	guint timer = g_timeout_add_seconds (30, too_late, viewed.loop);
	gint64 begun = now_ns ();

	if (!e_book_client_get_view_sync (book, EVERYTHING, &view, NULL, error))
		return FALSE;
	fields = g_slist_append (fields, (gpointer) e_contact_field_name (E_CONTACT_UID));
	fields = g_slist_append (fields, (gpointer) e_contact_field_name (E_CONTACT_FULL_NAME));
	e_book_client_view_set_fields_of_interest (view, fields, error);
	g_slist_free (fields);
	if (*error)
		return FALSE;
	g_signal_connect (view, "objects-added", G_CALLBACK (objects_added), &viewed);
	g_signal_connect (view, "complete", G_CALLBACK (view_complete), &viewed);
	e_book_client_view_start (view, error);
	if (*error)
		return FALSE;
	g_main_loop_run (viewed.loop);
	for (at = viewed.contacts; at; at = at->next)
		e_contact_get_const (at->data, E_CONTACT_FULL_NAME);
	took (answer, begun);
	g_source_remove (timer);
	answer_contacts (answer, viewed.contacts);
	e_book_client_view_stop (view, NULL);
	g_object_unref (view);
	g_slist_free_full (viewed.contacts, g_object_unref);
	g_main_loop_unref (viewed.loop);
	return TRUE;
}

static gboolean
screen (guint times, guint count, Answer *answer, GError **error)
{
	const EContactField sort[] = { E_CONTACT_FAMILY_NAME, E_CONTACT_GIVEN_NAME };
	const EBookCursorSortType ascending[] = {
		E_BOOK_CURSOR_SORT_ASCENDING, E_BOOK_CURSOR_SORT_ASCENDING
	};
	guint round;

	for (round = 0; round < times; round++) {
		EBookClientCursor *cursor = NULL;
		GSList *contacts = NULL, *at;
		gint stepped;
		gint64 begun = now_ns ();

		if (!e_book_client_get_cursor_sync (book, NULL, sort, ascending, 2, &cursor, NULL, error))
			return FALSE;
		stepped = e_book_client_cursor_step_sync (cursor,
			E_BOOK_CURSOR_STEP_MOVE | E_BOOK_CURSOR_STEP_FETCH, E_BOOK_CURSOR_ORIGIN_BEGIN,
			(gint) count, &contacts, NULL, error);
		for (at = contacts; at; at = at->next)
			e_contact_get_const (at->data, E_CONTACT_FULL_NAME);
		took (answer, begun);
		answer->count = g_slist_length (contacts);
		g_slist_free_full (contacts, g_object_unref);
		g_object_unref (cursor);
		if (stepped < 0)
			return FALSE;
	}
	return TRUE;
}

/* Gone is the book when the last reference is: what waits in the main context holds some. */
static gboolean
leave (Answer *answer, GError **error)
{
	GWeakRef left;
	GObject *still;
	gint64 begun;

	g_slist_free_full (held, g_object_unref);
	held = NULL;
	g_weak_ref_init (&left, book);
	begun = now_ns ();
	g_clear_object (&book);
	while ((still = g_weak_ref_get (&left))) {
		g_object_unref (still);
		if (now_ns () - begun > (gint64) 10 * 1000000000) {
			g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "the book is still in use");
			break;
		}
		if (!g_main_context_iteration (NULL, FALSE))
			g_usleep (20);
	}
	took (answer, begun);
	g_weak_ref_clear (&left);
	return *error == NULL;
}

static gboolean
obey (gchar **words, Answer *answer, GError **error)
{
	guint n = g_strv_length (words);
	gint64 begun = now_ns ();
	gboolean done;

	if (n == 3 && g_str_equal (words[0], "create"))
		return create (words[1], g_str_equal (words[2], "tuned"), error);
	if (n == 3 && g_str_equal (words[0], "connect")) {
		/* The list of books is read first and not timed, as in a program that runs already. */
		if (!need_registry (error))
			return FALSE;
		begun = now_ns ();
		done = join (words[1], words[2], error);
		took (answer, begun);
		return done;
	}
	if (n == 4 && g_str_equal (words[0], "start")) {
		Answer inner = { g_array_new (FALSE, FALSE, sizeof (gint64)), 0, NULL };
		done = join (words[1], words[2], error) && screen (1, atoi (words[3]), &inner, error);
		took (answer, begun);
		answer->count = inner.count;
		g_array_free (inner.ns, TRUE);
		return done;
	}
	if (n == 2 && g_str_equal (words[0], "load"))
		return load (words[1], answer, error);
	if (!book) {
		g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "no book is open");
		return FALSE;
	}
	if (n == 3 && g_str_equal (words[0], "save"))
		return save (atoi (words[1]), atoi (words[2]), TRUE, answer, error);
	if (n == 3 && g_str_equal (words[0], "batch"))
		return save (atoi (words[1]), atoi (words[2]), FALSE, answer, error);
	if (n == 1 && g_str_equal (words[0], "all"))
		return all (FALSE, FALSE, answer, error);
	if (n == 1 && g_str_equal (words[0], "names"))
		return all (TRUE, FALSE, answer, error);
	if (n == 1 && g_str_equal (words[0], "hold"))
		return all (TRUE, TRUE, answer, error);
	if (n >= 3 && g_str_equal (words[0], "get"))
		return get (atoi (words[1]), words + 2, answer, error);
	if (n >= 3 && g_str_equal (words[0], "many"))
		return many (atoi (words[1]), words + 2, answer, error);
	if (n == 3 && g_str_equal (words[0], "find"))
		return find (atoi (words[1]), words[2], answer, error);
	if (n == 3 && g_str_equal (words[0], "uids"))
		return find_uids (atoi (words[1]), words[2], answer, error);
	if (n == 1 && g_str_equal (words[0], "view"))
		return through_view (answer, error);
	if (n == 3 && g_str_equal (words[0], "screen"))
		return screen (atoi (words[1]), atoi (words[2]), answer, error);
	if (n == 1 && g_str_equal (words[0], "close"))
		return leave (answer, error);
	g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "unknown command %s", words[0]);
	return FALSE;
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
	g_type_ensure (E_TYPE_SOURCE_ADDRESS_BOOK);
	g_type_ensure (E_TYPE_SOURCE_BACKEND_SUMMARY_SETUP);
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
