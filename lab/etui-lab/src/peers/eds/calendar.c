/* A client of Evolution Data Server's calendar. Its commands:
 *
 *   create CALENDAR         makes a calendar
 *   connect CALENDAR        opens it, through D-Bus: there is no other way
 *   load FILE               reads events from a file and parses them, and adds the file's zones
 *                           to the calendar; events with one UID are one record
 *   save FROM COUNT         saves loaded records singly, each timed
 *   batch FROM COUNT        saves them at once
 *   all                     fetches every event
 *   names                   fetches every event and reads its title; digest
 *   hold                    the same, and keeps them until the calendar is left
 *   get TIMES UID...        fetches by UID, one after another, each timed; TIMES rounds
 *   many TIMES UID...       fetches by UID, all in one query; digest
 *   uids TIMES SEXP         the records of which a query means something; digest, titles left empty
 *   instances TIMES FROM TO what happens between two instants, in seconds since 1970, seen from
 *                           UTC; digest over the lines "UID <tab> start-end <newline>", in seconds
 *   close                   leaves the calendar
 *
 * A changed instance cannot be created: it is received, as an importing program does it, so a
 * record that has some takes a second call, in a batch all of them together. (Saved by modifying
 * the event that it belongs to, it is not found by ranges until the server starts anew.)
 *
 * The digest is over the lines "UID <tab> title <newline>" of events that are no changed instances
 * of others. */

#define LIBICAL_GLIB_UNSTABLE_API 1
#include <libecal/libecal.h>

#define EVERYTHING "#t"

/* A record: an event, and instances of it that are changed. */
typedef struct {
	ICalComponent *event;
	GSList *changed;
} Record;

static ECalClient *calendar;
static GPtrArray *loaded;
static GSList *held;

static void
free_record (Record *record)
{
	g_clear_object (&record->event);
	g_slist_free_full (record->changed, g_object_unref);
	g_free (record);
}

static gboolean
is_changed_instance (ICalComponent *event)
{
	return e_cal_util_component_has_property (event, I_CAL_RECURRENCEID_PROPERTY);
}

static void
answer_events (Answer *answer, GSList *events)
{
	GPtrArray *lines = new_lines ();
	GSList *at;

	for (at = events; at; at = at->next) {
		if (!is_changed_instance (at->data))
			add_line (lines, i_cal_component_get_uid (at->data), i_cal_component_get_summary (at->data));
	}
	answer->count = lines->len;
	answer_lines (answer, lines);
}

static gboolean
create (const gchar *uid, GError **error)
{
	ESource *source = new_source (uid, E_SOURCE_EXTENSION_CALENDAR, error);

	return source && commit_source (source, error);
}

static gboolean
join (const gchar *uid, GError **error)
{
	ESource *source = find_source (uid, error);
	EClient *client;

	if (!source)
		return FALSE;
	/* -1: do not wait for a server behind the backend; a local calendar has none. */
	client = e_cal_client_connect_sync (source, E_CAL_CLIENT_SOURCE_TYPE_EVENTS, (guint32) -1, NULL, error);
	g_object_unref (source);
	if (!client)
		return FALSE;
	calendar = E_CAL_CLIENT (client);
	e_cal_client_set_default_timezone (calendar, i_cal_timezone_get_utc_timezone ());
	return TRUE;
}

static gboolean
add_zone (ICalComponent *definition, GError **error)
{
	ICalTimezone *zone = i_cal_timezone_new ();
	ICalComponent *own = i_cal_component_clone (definition);
	gboolean done = i_cal_timezone_set_component (zone, own)
		? e_cal_client_add_timezone_sync (calendar, zone, NULL, error)
		: refuse (error, "a zone cannot be read");

	g_object_unref (own);
	g_object_unref (zone);
	return done;
}

static gboolean
load (const gchar *path, Answer *answer, GError **error)
{
	GHashTable *by_uid = g_hash_table_new (g_str_hash, g_str_equal);
	ICalComponent *file, *part;
	gboolean done = TRUE;
	gchar *text;

	if (!g_file_get_contents (path, &text, NULL, error))
		return FALSE;
	if (loaded)
		g_ptr_array_free (loaded, TRUE);
	loaded = g_ptr_array_new_with_free_func ((GDestroyNotify) free_record);
	file = i_cal_component_new_from_string (text);
	g_free (text);
	if (!file)
		return refuse (error, "the file is not iCalendar");
	for (part = i_cal_component_get_first_component (file, I_CAL_ANY_COMPONENT);
	     part && done;
	     g_object_unref (part), part = i_cal_component_get_next_component (file, I_CAL_ANY_COMPONENT)) {
		ICalComponentKind kind = i_cal_component_isa (part);
		Record *record;

		if (kind == I_CAL_VTIMEZONE_COMPONENT)
			done = add_zone (part, error);
		if (kind != I_CAL_VEVENT_COMPONENT)
			continue;
		record = g_hash_table_lookup (by_uid, i_cal_component_get_uid (part));
		if (record) {
			record->changed = g_slist_append (record->changed, i_cal_component_clone (part));
			continue;
		}
		record = g_new0 (Record, 1);
		record->event = i_cal_component_clone (part);
		g_ptr_array_add (loaded, record);
		g_hash_table_insert (by_uid, (gpointer) i_cal_component_get_uid (record->event), record);
	}
	g_hash_table_destroy (by_uid);
	g_object_unref (file);
	answer->count = loaded->len;
	return done;
}

/* An object to be received, with these components and later ones. */
static ICalComponent *
object_with (ICalComponent *object, const GSList *changed)
{
	for (; changed; changed = changed->next) {
		if (!object) {
			object = e_cal_util_new_top_level ();
			i_cal_component_set_method (object, I_CAL_METHOD_PUBLISH);
		}
		i_cal_component_take_component (object, i_cal_component_clone (changed->data));
	}
	return object;
}

/* Saves events, and an object with changed instances if there is one, which is gone then. */
static gboolean
save_some (GSList *events, ICalComponent *changed, Answer *answer, GError **error)
{
	GSList *uids = NULL;
	gint64 begun = now_ns ();
	gboolean done = e_cal_client_create_objects_sync (calendar, events, E_CAL_OPERATION_FLAG_NONE, &uids, NULL, error);

	if (done && changed)
		done = e_cal_client_receive_objects_sync (calendar, changed, E_CAL_OPERATION_FLAG_NONE, NULL, error);
	took (answer, begun);
	g_slist_free_full (uids, g_free);
	g_clear_object (&changed);
	return done;
}

static gboolean
save (guint from, guint count, gboolean singly, Answer *answer, GError **error)
{
	ICalComponent *changed = NULL;
	GSList *events = NULL;
	gboolean done = TRUE;
	guint i;

	if (!loaded || from + count > loaded->len)
		return refuse (error, "fewer records are loaded");
	answer->count = count;
	for (i = from; i < from + count && done; i++) {
		const Record *record = g_ptr_array_index (loaded, i);
		GSList one = { record->event, NULL };

		if (singly) {
			done = save_some (&one, object_with (NULL, record->changed), answer, error);
		} else {
			events = g_slist_prepend (events, record->event);
			changed = object_with (changed, record->changed);
		}
	}
	if (!singly)
		done = save_some (events, changed, answer, error);
	g_slist_free (events);
	return done;
}

static gboolean
all (gboolean names, gboolean keep, Answer *answer, GError **error)
{
	GSList *events = NULL, *at;
	gint64 begun = now_ns ();

	/* What arrives is parsed. */
	if (!e_cal_client_get_object_list_sync (calendar, EVERYTHING, &events, NULL, error))
		return FALSE;
	if (names) {
		for (at = events; at; at = at->next)
			i_cal_component_get_summary (at->data);
	}
	took (answer, begun);
	for (at = events; at; at = at->next)
		answer->count += !is_changed_instance (at->data);
	if (keep) {
		held = events;
		return TRUE;
	}
	if (names)
		answer_events (answer, events);
	g_slist_free_full (events, g_object_unref);
	return TRUE;
}

static gboolean
get (guint times, gchar **uids, Answer *answer, GError **error)
{
	GSList *events = NULL;
	guint round;
	gchar **uid;

	for (round = 0; round < times; round++) {
		g_slist_free_full (events, g_object_unref);
		events = NULL;
		for (uid = uids; *uid; uid++) {
			ICalComponent *event = NULL;
			gint64 begun = now_ns ();

			if (!e_cal_client_get_object_sync (calendar, *uid, NULL, &event, NULL, error))
				return FALSE;
			took (answer, begun);
			events = g_slist_prepend (events, event);
		}
	}
	answer_events (answer, events);
	g_slist_free_full (events, g_object_unref);
	return TRUE;
}

/* What a query means, the last of so many times; free it with what is in it. */
static gboolean
find (guint times, const gchar *sexp, GSList **events, Answer *answer, GError **error)
{
	guint round;

	for (round = 0; round < times; round++) {
		gint64 begun;

		g_slist_free_full (*events, g_object_unref);
		*events = NULL;
		begun = now_ns ();
		if (!e_cal_client_get_object_list_sync (calendar, sexp, events, NULL, error))
			return FALSE;
		took (answer, begun);
	}
	return TRUE;
}

static gboolean
many (guint times, gchar **uids, Answer *answer, GError **error)
{
	GString *sexp = g_string_new ("(or");
	GSList *events = NULL;
	gboolean done;
	gchar **uid;

	for (uid = uids; *uid; uid++)
		g_string_append_printf (sexp, " (uid? \"%s\")", *uid);
	g_string_append (sexp, ")");
	done = find (times, sexp->str, &events, answer, error);
	g_string_free (sexp, TRUE);
	if (done)
		answer_events (answer, events);
	g_slist_free_full (events, g_object_unref);
	return done;
}

static gboolean
find_uids (guint times, const gchar *sexp, Answer *answer, GError **error)
{
	GPtrArray *lines = new_lines ();
	GSList *events = NULL, *at;
	gboolean done = find (times, sexp, &events, answer, error);

	for (at = events; at; at = at->next)
		add_line (lines, i_cal_component_get_uid (at->data), NULL);
	sort_lines (lines, TRUE);
	answer->count = lines->len;
	answer_lines (answer, lines);
	g_slist_free_full (events, g_object_unref);
	return done;
}

/* One instance, as it comes. */
typedef struct {
	gchar *uid;
	time_t start;
	time_t end;
} Happening;

static time_t
instant (ICalTime *time)
{
	ICalTimezone *zone = i_cal_time_get_timezone (time);

	return i_cal_time_as_timet_with_zone (time, zone ? zone : i_cal_timezone_get_utc_timezone ());
}

static gboolean
happens (ICalComponent *event, ICalTime *start, ICalTime *end, gpointer found, GCancellable *cancellable, GError **error)
{
	Happening one = { g_strdup (i_cal_component_get_uid (event)), instant (start), instant (end) };

	(void) cancellable;
	(void) error;
	g_array_append_val ((GArray *) found, one);
	return TRUE;
}

static gboolean
instances (guint times, gint64 from, gint64 to, Answer *answer, GError **error)
{
	GPtrArray *lines = new_lines ();
	guint round, i;

	(void) error;
	for (round = 0; round < times; round++) {
		GArray *found = g_array_new (FALSE, FALSE, sizeof (Happening));
		gint64 begun = now_ns ();

		e_cal_client_generate_instances_sync (calendar, from, to, NULL, happens, found);
		took (answer, begun);
		for (i = 0; i < found->len; i++) {
			Happening *one = &g_array_index (found, Happening, i);

			if (round + 1 == times) {
				gchar *when = g_strdup_printf ("%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT,
					(gint64) one->start, (gint64) one->end);
				add_line (lines, one->uid, when);
				g_free (when);
			}
			g_free (one->uid);
		}
		g_array_free (found, TRUE);
	}
	answer->count = lines->len;
	answer_lines (answer, lines);
	return TRUE;
}

static gboolean
close_calendar (Answer *answer, GError **error)
{
	EClient *client = E_CLIENT (calendar);

	g_slist_free_full (held, g_object_unref);
	held = NULL;
	calendar = NULL;
	return leave (client, answer, error);
}

static void
ensure_types (void)
{
	g_type_ensure (E_TYPE_SOURCE_CALENDAR);
}

static gboolean
obey (gchar **words, Answer *answer, GError **error)
{
	guint n = g_strv_length (words);

	if (n == 2 && g_str_equal (words[0], "create"))
		return create (words[1], error);
	if (n == 2 && g_str_equal (words[0], "connect")) {
		gint64 begun;
		gboolean done;

		/* The list of calendars is read first and not timed, as in a program that runs already. */
		if (!need_registry (error))
			return FALSE;
		begun = now_ns ();
		done = join (words[1], error);
		took (answer, begun);
		return done;
	}
	if (!calendar)
		return refuse (error, "no calendar is open");
	if (n == 2 && g_str_equal (words[0], "load"))
		return load (words[1], answer, error);
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
	if (n == 3 && g_str_equal (words[0], "uids"))
		return find_uids (atoi (words[1]), words[2], answer, error);
	if (n == 4 && g_str_equal (words[0], "instances"))
		return instances (atoi (words[1]), g_ascii_strtoll (words[2], NULL, 10),
			g_ascii_strtoll (words[3], NULL, 10), answer, error);
	if (n == 1 && g_str_equal (words[0], "close"))
		return close_calendar (answer, error);
	g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "unknown command %s", words[0]);
	return FALSE;
}
