/* A client of Evolution Data Server's address book. Its commands:
 *
 *   create BOOK TYPE        makes a book; TYPE: shipped (no summary setup), tuned (all indexes), or
 *                           a number of steps: the summary's fields with the indexes of the
 *                           first steps
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
 * The digest is over the lines "UID <tab> name <newline>". */

#include <libebook/libebook.h>

/* As e_book_query_any_field_contains ("") has it. */
#define EVERYTHING "(contains \"x-evolution-any-field\" \"\")"

static EBookClient *book;
static GPtrArray *loaded;
static GSList *held;

static void
answer_contacts (Answer *answer, GSList *contacts)
{
	GPtrArray *lines = new_lines ();
	GSList *at;

	for (at = contacts; at; at = at->next) {
		gchar *uid = e_contact_get (at->data, E_CONTACT_UID);
		gchar *name = e_contact_get (at->data, E_CONTACT_FULL_NAME);
		add_line (lines, uid, name);
		g_free (uid);
		g_free (name);
	}
	answer->count = lines->len;
	answer_lines (answer, lines);
}

/* The same of UIDs alone. */
static void
answer_uids (Answer *answer, GSList *uids)
{
	GPtrArray *lines = new_lines ();
	GSList *at;

	for (at = uids; at; at = at->next)
		add_line (lines, at->data, NULL);
	answer->count = lines->len;
	answer_lines (answer, lines);
}

/* All indexes, by step; peers/eds/mod.rs names the steps. */
static const struct {
	guint step;
	EContactField field;
	EBookIndexType type;
} indexes[] = {
	{ 1, E_CONTACT_FULL_NAME, E_BOOK_INDEX_PREFIX },
	{ 1, E_CONTACT_FAMILY_NAME, E_BOOK_INDEX_PREFIX },
	{ 1, E_CONTACT_GIVEN_NAME, E_BOOK_INDEX_PREFIX },
	{ 2, E_CONTACT_FULL_NAME, E_BOOK_INDEX_SUFFIX },
	{ 2, E_CONTACT_FAMILY_NAME, E_BOOK_INDEX_SUFFIX },
	{ 2, E_CONTACT_GIVEN_NAME, E_BOOK_INDEX_SUFFIX },
	{ 3, E_CONTACT_FAMILY_NAME, E_BOOK_INDEX_SORT_KEY },
	{ 3, E_CONTACT_GIVEN_NAME, E_BOOK_INDEX_SORT_KEY },
	{ 4, E_CONTACT_EMAIL, E_BOOK_INDEX_PREFIX },
	{ 5, E_CONTACT_EMAIL, E_BOOK_INDEX_SUFFIX },
	{ 6, E_CONTACT_TEL, E_BOOK_INDEX_PREFIX },
	{ 7, E_CONTACT_TEL, E_BOOK_INDEX_SUFFIX },
	{ 8, E_CONTACT_TEL, E_BOOK_INDEX_PHONE },
};

static gboolean
create (const gchar *uid, const gchar *type, GError **error)
{
	ESource *source = new_source (uid, E_SOURCE_EXTENSION_ADDRESS_BOOK, error);
	guint steps = g_str_equal (type, "tuned") ? G_MAXUINT : (guint) atoi (type);
	EContactField fields[G_N_ELEMENTS (indexes)];
	EBookIndexType types[G_N_ELEMENTS (indexes)];
	gint count = 0;
	guint i;

	if (!source)
		return FALSE;
	if (!g_str_equal (type, "shipped")) {
		ESourceBackendSummarySetup *setup =
			e_source_get_extension (source, E_SOURCE_EXTENSION_BACKEND_SUMMARY_SETUP);
		/* full_name means full, family or given: without all three its queries scan. */
		e_source_backend_summary_setup_set_summary_fields (setup,
			E_CONTACT_FULL_NAME, E_CONTACT_FAMILY_NAME, E_CONTACT_GIVEN_NAME,
			E_CONTACT_EMAIL, E_CONTACT_TEL, 0);
		for (i = 0; i < G_N_ELEMENTS (indexes); i++) {
			if (indexes[i].step <= steps) {
				fields[count] = indexes[i].field;
				types[count++] = indexes[i].type;
			}
		}
		e_source_backend_summary_setup_set_indexed_fieldsv (setup, fields, types, count);
	}
	return commit_source (source, error);
}

static gboolean
join (const gchar *uid, const gchar *way, GError **error)
{
	ESource *source = find_source (uid, error);
	EClient *client;

	if (!source)
		return FALSE;
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

	if (!loaded || from + count > loaded->len)
		return refuse (error, "fewer contacts are loaded");
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
	answer_uids (answer, uids);
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

static gboolean
close_book (Answer *answer, GError **error)
{
	EClient *client = E_CLIENT (book);

	g_slist_free_full (held, g_object_unref);
	held = NULL;
	book = NULL;
	return leave (client, answer, error);
}

static void
ensure_types (void)
{
	g_type_ensure (E_TYPE_SOURCE_ADDRESS_BOOK);
	g_type_ensure (E_TYPE_SOURCE_BACKEND_SUMMARY_SETUP);
}

static gboolean
obey (gchar **words, Answer *answer, GError **error)
{
	guint n = g_strv_length (words);
	gint64 begun = now_ns ();
	gboolean done;

	if (n == 3 && g_str_equal (words[0], "create"))
		return create (words[1], words[2], error);
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
	if (!book)
		return refuse (error, "no book is open");
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
		return close_book (answer, error);
	g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "unknown command %s", words[0]);
	return FALSE;
}
