// Thunderbird's own objects, for tests. Marionette runs this before each call, in the privileged context.

const { MailServices } = ChromeUtils.importESModule("resource:///modules/MailServices.sys.mjs");
const { CardDAVDirectory } = ChromeUtils.importESModule("resource:///modules/CardDAVDirectory.sys.mjs");
const { CardDAVUtils } = ChromeUtils.importESModule("resource:///modules/CardDAVUtils.sys.mjs");
const { VCardUtils } = ChromeUtils.importESModule("resource:///modules/VCardUtils.sys.mjs");
const { CalEvent } = ChromeUtils.importESModule("resource:///modules/CalEvent.sys.mjs");
const { cal } = ChromeUtils.importESModule("resource:///modules/calendar/calUtils.sys.mjs");

async function saveLogin(origin, realm, user, password) {
  const LoginInfo = Components.Constructor(
    "@mozilla.org/login-manager/loginInfo;1",
    Ci.nsILoginInfo,
    "init"
  );
  await Services.logins.addLoginAsync(new LoginInfo(origin, null, realm, user, password, "", ""));
}

// Address books.

function book(id) {
  const found = MailServices.ab.directories.find(directory => directory.UID == id);
  return CardDAVDirectory.forFile(found.fileName);
}

async function findBooks(url, user, password) {
  const found = await CardDAVUtils.detectAddressBooks(user, password, url, false, false);
  return found.map(entry => ({ url: String(entry.url), name: entry.name }));
}

function newBook(name, url, user) {
  const prefId = MailServices.ab.newAddressBook(
    name,
    null,
    Ci.nsIAbManager.CARDDAV_DIRECTORY_TYPE,
    null
  );
  const directory = MailServices.ab.getDirectoryFromId(prefId);
  directory.setIntValue("carddav.syncinterval", 0);
  directory.setStringValue("carddav.url", url);
  directory.setStringValue("carddav.username", user);
  return directory.UID;
}

function cardNames(id) {
  return book(id).childCards.map(card => card.displayName);
}

function findCard(id, name) {
  const found = book(id).childCards.filter(card => card.displayName == name);
  if (found.length != 1) {
    throw new Error(`${found.length} cards have the name ${name}`);
  }
  return found[0];
}

function addCard(id, text) {
  book(id).addCard(VCardUtils.vCardToAbCard(text));
}

function changeCard(id, oldName, newName) {
  const card = findCard(id, oldName);
  const properties = card.vCardProperties;
  properties.getFirstEntry("fn").value = newName;
  card.setProperty("_vCard", properties.toVCard());
  book(id).modifyCard(card);
}

function removeCard(id, name) {
  book(id).deleteCards([findCard(id, name)]);
}

// Calendars.

async function findCalendars(url, user, password) {
  const found = await cal.provider.detection.detect(user, password, url, false, [], {});
  const calendars = [...found.values()].flat();
  return calendars.map(calendar => ({
    url: calendar.uri.spec,
    name: calendar.name,
    isReadOnly: calendar.readOnly,
  }));
}

function newCalendar(name, url, user) {
  const calendar = cal.manager.createCalendar("caldav", Services.io.newURI(url));
  calendar.name = name;
  calendar.setProperty("username", user);
  calendar.setProperty("refreshInterval", "0");
  calendar.setProperty("cache.enabled", true);
  cal.manager.registerCalendar(calendar);
  return calendar.id;
}

function events(id) {
  return cal.manager
    .getCalendarById(id)
    .getItemsAsArray(Ci.calICalendar.ITEM_FILTER_ALL_ITEMS, 0, null, null);
}

async function findEvent(id, title) {
  const found = (await events(id)).filter(event => event.title == title);
  if (found.length != 1) {
    throw new Error(`${found.length} events have the title ${title}`);
  }
  return found[0];
}

async function changeEvent(id, oldTitle, newTitle) {
  const before = await findEvent(id, oldTitle);
  const after = before.clone();
  after.title = newTitle;
  await cal.manager.getCalendarById(id).modifyItem(after, before);
}

// What a person would choose in the dialog about a conflict.
function answerConflicts(overwrite) {
  cal.provider.promptOverwrite = () => overwrite;
}
