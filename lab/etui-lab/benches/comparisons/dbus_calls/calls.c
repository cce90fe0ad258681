/* Compares calls of a service with an echo: a server on libdbus, in a process of its own, which
 * answers the same arguments with a reply of the same bytes.
 *
 *   calls ROUNDS CALLS DESTINATION PATH INTERFACE MEMBER [ARGUMENT...]
 *
 * An argument is `s:TEXT`, `as:TEXT,TEXT...` or `options` (an empty a{sv}). A round is CALLS calls
 * of the echo and then CALLS of the service. Prints the median time of both for each round, in
 * nanoseconds (CLOCK_MONOTONIC), and before them the length of the service's reply. */

#include <dbus/dbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define ECHO_NAME "org.etui.lab.Echo"
#define ECHO_PATH "/"
/* A call with the reply that later calls get. */
#define KEEP "Keep"
#define MAX_MS 20000

static void
fail (const char *what, const DBusError *error)
{
	fprintf (stderr, "%s: %s\n", what, error && error->message ? error->message : "failed");
	exit (1);
}

static void
copy_values (DBusMessageIter *from, DBusMessageIter *to)
{
	int type;

	for (; (type = dbus_message_iter_get_arg_type (from)) != DBUS_TYPE_INVALID; dbus_message_iter_next (from)) {
		if (dbus_type_is_container (type)) {
			DBusMessageIter in, out;
			char *signature = NULL;
			dbus_message_iter_recurse (from, &in);
			if (type == DBUS_TYPE_ARRAY || type == DBUS_TYPE_VARIANT)
				signature = dbus_message_iter_get_signature (&in);
			dbus_message_iter_open_container (to, type, signature, &out);
			copy_values (&in, &out);
			dbus_message_iter_close_container (to, &out);
			dbus_free (signature);
		} else {
			DBusBasicValue value;
			dbus_message_iter_get_basic (from, &value);
			dbus_message_iter_append_basic (to, type, &value);
		}
	}
}

static void
copy_body (DBusMessage *from, DBusMessage *to)
{
	DBusMessageIter in, out;

	dbus_message_iter_init_append (to, &out);
	if (dbus_message_iter_init (from, &in))
		copy_values (&in, &out);
}

static DBusConnection *
join_bus (void)
{
	DBusError error = DBUS_ERROR_INIT;
	DBusConnection *bus = dbus_bus_get_private (DBUS_BUS_SESSION, &error);

	if (!bus)
		fail ("the bus", &error);
	return bus;
}

static DBusHandlerResult
echo (DBusConnection *bus, DBusMessage *call, void *unused)
{
	static DBusMessage *kept;
	DBusMessage *reply;

	(void) unused;
	if (dbus_message_get_type (call) != DBUS_MESSAGE_TYPE_METHOD_CALL)
		return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
	if (strcmp (dbus_message_get_member (call), KEEP) == 0) {
		if (kept)
			dbus_message_unref (kept);
		kept = dbus_message_ref (call);
		reply = dbus_message_new_method_return (call);
	} else {
		reply = dbus_message_new_method_return (call);
		copy_body (kept, reply);
	}
	dbus_connection_send (bus, reply, NULL);
	dbus_message_unref (reply);
	return DBUS_HANDLER_RESULT_HANDLED;
}

static void
serve_echo (void)
{
	DBusError error = DBUS_ERROR_INIT;
	DBusConnection *bus;

	prctl (PR_SET_PDEATHSIG, SIGKILL);
	bus = join_bus ();
	dbus_connection_add_filter (bus, echo, NULL, NULL);
	if (dbus_bus_request_name (bus, ECHO_NAME, 0, &error) < 0)
		fail (ECHO_NAME, &error);
	while (dbus_connection_read_write_dispatch (bus, -1))
		;
	exit (0);
}

static void
append_argument (DBusMessageIter *to, char *argument)
{
	DBusMessageIter array;

	if (strncmp (argument, "s:", 2) == 0) {
		argument += 2;
		dbus_message_iter_append_basic (to, DBUS_TYPE_STRING, &argument);
	} else if (strncmp (argument, "as:", 3) == 0) {
		char *texts = strdup (argument + 3), *rest = texts, *text;
		dbus_message_iter_open_container (to, DBUS_TYPE_ARRAY, "s", &array);
		while ((text = strsep (&rest, ",")))
			dbus_message_iter_append_basic (&array, DBUS_TYPE_STRING, &text);
		dbus_message_iter_close_container (to, &array);
		free (texts);
	} else if (strcmp (argument, "options") == 0) {
		dbus_message_iter_open_container (to, DBUS_TYPE_ARRAY, "{sv}", &array);
		dbus_message_iter_close_container (to, &array);
	} else {
		fail (argument, NULL);
	}
}

/* Destination, path, interface, member and arguments. */
static DBusMessage *
new_call (char **words)
{
	DBusMessage *call = dbus_message_new_method_call (words[0], words[1], words[2], words[3]);
	DBusMessageIter to;
	char **argument;

	dbus_message_iter_init_append (call, &to);
	for (argument = words + 4; *argument; argument++)
		append_argument (&to, *argument);
	return call;
}

static DBusMessage *
ask (DBusConnection *bus, DBusMessage *call)
{
	DBusError error = DBUS_ERROR_INIT;
	DBusMessage *reply = dbus_connection_send_with_reply_and_block (bus, call, MAX_MS, &error);

	if (!reply)
		fail (dbus_message_get_member (call), &error);
	return reply;
}

static long long
now_ns (void)
{
	struct timespec t;
	clock_gettime (CLOCK_MONOTONIC, &t);
	return (long long) t.tv_sec * 1000000000 + t.tv_nsec;
}

static int
compare_times (const void *a, const void *b)
{
	long long x = *(const long long *) a, y = *(const long long *) b;
	return x < y ? -1 : x > y;
}

/* The median time of some calls. Arguments are appended within the time, as a program does. */
static long long
time_calls (DBusConnection *bus, int count, char **words)
{
	long long *times = calloc (count, sizeof *times), median;
	int i;

	for (i = 0; i < count; i++) {
		long long begun = now_ns ();
		DBusMessage *call = new_call (words);
		DBusMessage *reply = ask (bus, call);
		times[i] = now_ns () - begun;
		dbus_message_unref (call);
		dbus_message_unref (reply);
	}
	qsort (times, count, sizeof *times, compare_times);
	median = times[count / 2];
	free (times);
	return median;
}

/* Gives the echo the reply of the service; the length of that. */
static int
keep_reply (DBusConnection *bus, char **words)
{
	DBusMessage *call = new_call (words), *reply = ask (bus, call);
	DBusMessage *keep = dbus_message_new_method_call (ECHO_NAME, ECHO_PATH, ECHO_NAME, KEEP);
	char *bytes;
	int length = 0;

	dbus_message_unref (call);
	copy_body (reply, keep);
	dbus_message_unref (ask (bus, keep));
	dbus_message_unref (keep);
	if (dbus_message_marshal (reply, &bytes, &length))
		dbus_free (bytes);
	dbus_message_unref (reply);
	return length;
}

int
main (int count, char **words)
{
	DBusConnection *bus;
	char **echoed;
	int round, rounds, calls;
	pid_t server;

	if (count < 7)
		fail ("calls ROUNDS CALLS DESTINATION PATH INTERFACE MEMBER [ARGUMENT...]", NULL);
	rounds = atoi (words[1]);
	calls = atoi (words[2]);
	words += 3;
	server = fork ();
	if (server == 0)
		serve_echo ();
	bus = join_bus ();
	while (!dbus_bus_name_has_owner (bus, ECHO_NAME, NULL))
		usleep (1000);

	echoed = calloc (count, sizeof *echoed);
	memcpy (echoed, words, (count - 3) * sizeof *echoed);
	echoed[0] = echoed[2] = ECHO_NAME;
	echoed[1] = ECHO_PATH;
	/* Not `Ping`: libdbus answers that itself before it comes to the filter. */
	echoed[3] = "Give";
	printf ("%d\n", keep_reply (bus, words));
	for (round = 0; round < rounds; round++) {
		long long ours = time_calls (bus, calls, echoed);
		printf ("%lld %lld\n", ours, time_calls (bus, calls, words));
	}
	kill (server, SIGKILL);
	return 0;
}
