/* A client of Akonadi's address book: the commands of Evolution Data Server's client (contacts.c)
 * that Akonadi can obey, with the same answers and the same digest.
 *
 *   create                  starts the server and makes an address book of its "Personal Contacts"
 *   connect                 finds the address book
 *   load FILE               reads vCards from a file and parses them; nothing is sent
 *   save FROM COUNT         saves loaded contacts singly, each timed
 *   batch FROM COUNT        saves them in one transaction
 *   all                     fetches every contact's item with its payload
 *   names                   fetches every contact and reads its name; digest
 *   hold                    the same, and keeps them until the book is left
 *   get TIMES UID...        fetches by UID, one after another, each timed; TIMES rounds; digest
 *   many TIMES UID...       fetches by UID, all in one job; digest
 *   flush                   waits until the resource has written all contacts to its directory
 *   close                   leaves the book
 *
 * A contact's UID is its item's global id. Payloads are parsed while an item is fetched. */

#include <Akonadi/AgentInstanceCreateJob>
#include <Akonadi/AgentManager>
#include <Akonadi/AgentType>
#include <Akonadi/Collection>
#include <Akonadi/CollectionFetchJob>
#include <Akonadi/CollectionFetchScope>
#include <Akonadi/Item>
#include <Akonadi/ItemCreateJob>
#include <Akonadi/ItemFetchJob>
#include <Akonadi/ItemFetchScope>
#include <Akonadi/ServerManager>
#include <Akonadi/TransactionSequence>
#include <KContacts/Addressee>
#include <KContacts/VCardConverter>
#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QThread>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

using Akonadi::Item;
using KContacts::Addressee;

/* How long the server and its resource may take to start, seconds. */
static const int START_SECONDS = 90;

struct Answer {
	std::vector<long long> ns;
	long long count = 0;
	std::string digest;
};

static Akonadi::Collection book;
static Addressee::List loaded;
static Item::List held;
static long long saved = 0;

static long long
now_ns ()
{
	timespec t;
	clock_gettime (CLOCK_MONOTONIC, &t);
	return (long long) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
took (Answer &answer, long long begun)
{
	answer.ns.push_back (now_ns () - begun);
}

/* Runs a job; its error is the command's. */
static void
run (KJob *job)
{
	if (!job->exec ())
		throw std::runtime_error (job->errorString ().toStdString ());
}

/* Waits for a condition, with the event loop. */
template <typename Condition>
static void
wait_for (const char *what, Condition condition)
{
	long long until = now_ns () + START_SECONDS * 1000000000LL;

	while (!condition ()) {
		if (now_ns () > until)
			throw std::runtime_error (std::string ("waited too long for ") + what);
		QCoreApplication::processEvents (QEventLoop::AllEvents, 20);
		QThread::msleep (2);
	}
}

static void
answer_items (Answer &answer, const Item::List &items)
{
	std::vector<std::string> lines;
	unsigned long long hash = 0xcbf29ce484222325ULL;

	for (const Item &item : items) {
		const Addressee person = item.payload<Addressee> ();
		lines.push_back ((person.uid () + QLatin1Char ('\t') + person.formattedName () + QLatin1Char ('\n')).toStdString ());
	}
	std::sort (lines.begin (), lines.end ());
	for (const std::string &line : lines) {
		for (unsigned char c : line)
			hash = (hash ^ c) * 0x100000001b3ULL;
	}
	char text[17];
	snprintf (text, sizeof text, "%016llx", hash);
	answer.count = (long long) lines.size ();
	answer.digest = text;
}

static void
start_server ()
{
	using Akonadi::ServerManager;

	if (ServerManager::state () != ServerManager::Running) {
		ServerManager::start ();
		wait_for ("the server", [] { return ServerManager::state () == ServerManager::Running; });
	}
}

static bool
find_book ()
{
	auto job = new Akonadi::CollectionFetchJob (Akonadi::Collection::root (), Akonadi::CollectionFetchJob::Recursive);

	job->fetchScope ().setContentMimeTypes ({Addressee::mimeType ()});
	run (job);
	for (const Akonadi::Collection &one : job->collections ()) {
		if (one.contentMimeTypes ().contains (Addressee::mimeType ()) && !one.isVirtual ()) {
			book = one;
			return true;
		}
	}
	return false;
}

static void
create ()
{
	const QString name = QStringLiteral ("akonadi_contacts_resource");

	start_server ();
	wait_for ("the resource's type", [&] { return Akonadi::AgentManager::self ()->type (name).isValid (); });
	auto job = new Akonadi::AgentInstanceCreateJob (name);
	run (job);
	Akonadi::AgentInstance instance = job->instance ();
	/* A call that comes before the resource listens is lost: it is made again each second. */
	long long next = 0;
	wait_for ("the address book", [&] {
		if (now_ns () >= next) {
			instance.setIsOnline (true);
			instance.synchronizeCollectionTree ();
			next = now_ns () + 1000000000LL;
		}
		return find_book ();
	});
}

static void
load (const std::string &path, Answer &answer)
{
	QFile file (QString::fromStdString (path));

	if (!file.open (QIODevice::ReadOnly))
		throw std::runtime_error ("cannot read " + path);
	loaded = KContacts::VCardConverter ().parseVCards (file.readAll ());
	answer.count = loaded.size ();
}

static Item
new_item (int at)
{
	if (at < 0 || at >= loaded.size ())
		throw std::runtime_error ("so many contacts are not loaded");
	Item item (Addressee::mimeType ());
	item.setPayload<Addressee> (loaded[at]);
	item.setGid (loaded[at].uid ());
	return item;
}

static void
save (int from, int count, Answer &answer)
{
	for (int at = from; at < from + count; at++) {
		const long long begun = now_ns ();
		run (new Akonadi::ItemCreateJob (new_item (at), book));
		took (answer, begun);
	}
	saved += count;
	answer.count = count;
}

static void
batch (int from, int count, Answer &answer)
{
	const long long begun = now_ns ();
	auto all = new Akonadi::TransactionSequence;

	for (int at = from; at < from + count; at++)
		new Akonadi::ItemCreateJob (new_item (at), book, all);
	run (all);
	took (answer, begun);
	saved += count;
	answer.count = count;
}

static Item::List
fetch (Akonadi::ItemFetchJob *job)
{
	job->fetchScope ().fetchFullPayload ();
	run (job);
	return job->items ();
}

static void
all (bool names, bool keep, Answer &answer)
{
	const long long begun = now_ns ();
	const Item::List items = fetch (new Akonadi::ItemFetchJob (book));
	long long length = 0;

	if (names) {
		for (const Item &item : items)
			length += item.payload<Addressee> ().formattedName ().size ();
	}
	took (answer, begun);
	if (names)
		answer_items (answer, items);
	answer.count = items.size ();
	if (keep)
		held = items;
	if (names && items.size () && !length)
		throw std::runtime_error ("no contact has a name");
}

static Item
by_uid (const std::string &uid)
{
	Item item;
	item.setGid (QString::fromStdString (uid));
	return item;
}

static void
get (int times, const std::vector<std::string> &uids, Answer &answer)
{
	Item::List found;

	for (int round = 0; round < times; round++) {
		found.clear ();
		for (const std::string &uid : uids) {
			const long long begun = now_ns ();
			found += fetch (new Akonadi::ItemFetchJob (by_uid (uid)));
			took (answer, begun);
		}
	}
	answer_items (answer, found);
}

static void
many (int times, const std::vector<std::string> &uids, Answer &answer)
{
	Item::List found;

	for (int round = 0; round < times; round++) {
		Item::List wanted;
		const long long begun = now_ns ();
		for (const std::string &uid : uids)
			wanted.push_back (by_uid (uid));
		found = fetch (new Akonadi::ItemFetchJob (wanted));
		took (answer, begun);
	}
	answer_items (answer, found);
}

/* The resource writes each contact to a file of its own, after the save was answered. */
static void
flush (Answer &answer)
{
	const QString path = qEnvironmentVariable ("XDG_DATA_HOME") + QStringLiteral ("/contacts");
	const long long begun = now_ns ();

	wait_for ("the resource's files", [&] {
		return (long long) QDir (path).entryList ({QStringLiteral ("*.vcf")}, QDir::Files).size () >= saved;
	});
	took (answer, begun);
}

static void
obey (const std::vector<std::string> &words, Answer &answer)
{
	const std::string &command = words[0];
	const size_t n = words.size ();
	const long long begun = now_ns ();
	const auto rest = [&] { return std::vector<std::string> (words.begin () + 2, words.end ()); };

	if (command == "create" && n == 1)
		return create ();
	if (command == "connect" && n == 1) {
		start_server ();
		if (!find_book ())
			throw std::runtime_error ("there is no address book");
		return took (answer, begun);
	}
	if (command == "load" && n == 2)
		return load (words[1], answer);
	if (!book.isValid ())
		throw std::runtime_error ("no book is open");
	if (command == "save" && n == 3)
		return save (std::stoi (words[1]), std::stoi (words[2]), answer);
	if (command == "batch" && n == 3)
		return batch (std::stoi (words[1]), std::stoi (words[2]), answer);
	if (command == "all" && n == 1)
		return all (false, false, answer);
	if (command == "names" && n == 1)
		return all (true, false, answer);
	if (command == "hold" && n == 1)
		return all (true, true, answer);
	if (command == "get" && n >= 3)
		return get (std::stoi (words[1]), rest (), answer);
	if (command == "many" && n >= 3)
		return many (std::stoi (words[1]), rest (), answer);
	if (command == "flush" && n == 1)
		return flush (answer);
	if (command == "close" && n == 1) {
		held.clear ();
		book = Akonadi::Collection ();
		return took (answer, begun);
	}
	throw std::runtime_error ("unknown command " + command);
}

static std::vector<std::string>
split (const std::string &line)
{
	std::vector<std::string> words;
	size_t from = 0, at;

	while ((at = line.find ('\t', from)) != std::string::npos) {
		words.push_back (line.substr (from, at - from));
		from = at + 1;
	}
	words.push_back (line.substr (from));
	return words;
}

int
main (int argc, char **argv)
{
	QCoreApplication application (argc, argv);
	std::string line;

	QCoreApplication::setApplicationName (QStringLiteral ("etui-lab"));
	while (std::getline (std::cin, line)) {
		Answer answer;
		try {
			obey (split (line), answer);
			std::cout << "{\"ns\": [";
			for (size_t i = 0; i < answer.ns.size (); i++)
				std::cout << (i ? ", " : "") << answer.ns[i];
			std::cout << "], \"count\": " << answer.count << ", \"digest\": \"" << answer.digest << "\"}" << std::endl;
		} catch (const std::exception &e) {
			std::string words = e.what ();
			for (char &c : words) {
				if (c == '"' || c == '\\' || (unsigned char) c < ' ')
					c = ' ';
			}
			std::cout << "{\"error\": \"" << words << "\"}" << std::endl;
		}
	}
	return 0;
}
