// What tsdav does with an address book and a calendar; each result is a line for Report.take().
// node tsdav_client.mjs, with the server in the environment as client_process.told() makes it.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";

// The package is not beside this file.
const { DAVClient, DAVNamespaceShort } = createRequire(`${process.cwd()}/`)("tsdav");
const { DAV_URL: url, DAV_USER: username, DAV_PASSWORD: password, DAV_READER: reader, DAV_ONLY: only } = process.env;
const text = (...lines) => lines.map((line) => `${line}\r\n`).join("");
const accepted = (answer, ...statuses) =>
  assert.ok(statuses.includes(answer.status), `answered ${answer.status} ${answer.statusText}`);
const path = (address) => new URL(address, url).pathname;

const KINDS = {
  book: {
    account: "carddav",
    suffix: "vcf",
    generated: process.env.DAV_GENERATED_BOOK,
    list: (client) => client.fetchAddressBooks(),
    fetch: (client, addressBook, more) => client.fetchVCards({ addressBook, ...more }),
    multiGet: (client, some) => client.addressBookMultiGet(some),
    create: (client, addressBook, filename, vCardString) => client.createVCard({ addressBook, filename, vCardString }),
    update: (client, vCard) => client.updateVCard({ vCard }),
    remove: (client, vCard) => client.deleteVCard({ vCard }),
    make: (client, at, name) =>
      client.makeCollection({
        url: at,
        props: {
          [`${DAVNamespaceShort.DAV}:displayname`]: name,
          [`${DAVNamespaceShort.DAV}:resourcetype`]: {
            [`${DAVNamespaceShort.DAV}:collection`]: {},
            [`${DAVNamespaceShort.CARDDAV}:addressbook`]: {},
          },
        },
      }),
    text: (name) =>
      text("BEGIN:VCARD", "VERSION:3.0", `UID:${randomUUID()}`, `FN:${name}`, "N:;;;;", "X-ODD;X-P=1:kept", "END:VCARD"),
  },
  calendar: {
    account: "caldav",
    suffix: "ics",
    generated: process.env.DAV_GENERATED_CALENDAR,
    list: (client) => client.fetchCalendars(),
    fetch: (client, calendar, more) => client.fetchCalendarObjects({ calendar, ...more }),
    multiGet: (client, some) => client.calendarMultiGet(some),
    create: (client, calendar, filename, iCalString) => client.createCalendarObject({ calendar, filename, iCalString }),
    update: (client, calendarObject) => client.updateCalendarObject({ calendarObject }),
    remove: (client, calendarObject) => client.deleteCalendarObject({ calendarObject }),
    make: (client, at, name) =>
      client.makeCalendar({ url: at, props: { [`${DAVNamespaceShort.DAV}:displayname`]: name } }),
    text: (name, day = "05", rule = []) =>
      text(
        ...["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//etui//dav-tests//EN", "BEGIN:VEVENT", `UID:${randomUUID()}`],
        ...["DTSTAMP:20300101T000000Z", `DTSTART:203001${day}T100000Z`, "DURATION:PT1H", `SUMMARY:${name}`, ...rule],
        ...["X-ODD;X-P=1:kept", "END:VEVENT", "END:VCALENDAR"],
      ),
  },
};

const logIn = async (account, secret = password) => {
  const credentials = { username, password: secret };
  const client = new DAVClient({ serverUrl: url, credentials, authMethod: "Basic", defaultAccountType: account });
  await client.login();
  return client;
};

async function step(name, work) {
  try {
    await work();
    console.log(`ok\t${name}`);
  } catch (error) {
    console.error(error);
    const where = error.stack?.split("\n").find((line) => line.includes("tsdav_client")) ?? "";
    console.log(`FAILED\t${name}\t${`${error.message}\n${where.trim()}`.replaceAll("\n", "\\n")}`);
  }
}

async function runKind(kind, its) {
  const name = `tsdav-${kind}-${randomUUID().slice(0, 8)}`;
  let client, collection, known;
  const find = (objects, part) => objects.find((object) => String(object.data).includes(part));
  const listed = async (part) => find(await its.fetch(client, collection), part);

  await step(`${kind}: the account is found by the server's address`, async () => {
    client = await logIn(its.account);
    assert.ok(client.account.principalUrl && client.account.homeUrl);
  });
  if (!client) return;

  await step(`${kind}: a wrong password is refused`, async () => {
    await assert.rejects(logIn(its.account, "wrong"), /credentials|401|principal|home/i);
  });

  await step(`${kind}: a collection is made and listed`, async () => {
    const made = await its.make(client, new URL(`${name}/`, client.account.homeUrl).href, name);
    accepted(made[0], 201, 207);
    collection = (await its.list(client)).find((one) => one.displayName === name);
    assert.ok(collection?.syncToken && collection.ctag, JSON.stringify(collection));
    assert.ok(collection.reports.includes("syncCollection"), String(collection.reports));
  });
  if (!collection) return;

  await step(`${kind}: records are created and come back as they were`, async () => {
    const texts = Array.from({ length: 30 }, (_, number) => its.text(`First ${number}.`));
    for (const [number, one] of texts.entries()) {
      accepted(await its.create(client, collection, `first${number}.${its.suffix}`, one), 201);
    }
    const objects = await its.fetch(client, collection);
    assert.equal(objects.length, 30);
    for (const one of texts) assert.ok(objects.some((object) => object.data.trim() === one.trim()), one);
    assert.ok(objects.every((object) => object.etag));
    assert.equal((await its.fetch(client, collection, { useMultiGet: false })).length, 30);
  });

  await step(`${kind}: a name that is taken is refused`, async () => {
    accepted(await its.create(client, collection, `first1.${its.suffix}`, its.text("Again")), 412);
  });

  await step(`${kind}: the tag tells whether something changed`, async () => {
    collection = (await its.list(client)).find((one) => one.url === collection.url);
    assert.equal((await client.isCollectionDirty({ collection })).isDirty, false);
    accepted(await its.create(client, collection, `later.${its.suffix}`, its.text("Later")), 201);
    assert.equal((await client.isCollectionDirty({ collection })).isDirty, true);
  });

  for (const method of ["webdav", "basic"]) {
    await step(`${kind}: ${method} synchronisation sees what another device did`, async () => {
      const fresh = (await its.list(client)).find((one) => one.url === collection.url);
      known = {
        ...fresh,
        objects: await its.fetch(client, collection),
        objectMultiGet: (some) => its.multiGet(client, some),
        fetchObjects: (some) => its.fetch(client, some.collection),
      };
      const still = await client.smartCollectionSync({ collection: known, method, detailedResult: true });
      assert.deepEqual(
        [still.objects.created, still.objects.updated, still.objects.deleted].map((some) => some.length),
        [0, 0, 0],
      );
      const other = await logIn(its.account);
      const changed = find(known.objects, method === "webdav" ? "First 5." : "First 6.");
      const removed = find(known.objects, method === "webdav" ? "First 7." : "First 8.");
      const next = { ...changed, data: changed.data.replace("First", "Changed") };
      accepted(await its.update(other, next), 200, 204);
      accepted(await its.remove(other, removed), 200, 204);
      accepted(await its.create(other, collection, `${method}.${its.suffix}`, its.text(`New ${method}`)), 201);
      const { objects } = await client.smartCollectionSync({ collection: known, method, detailedResult: true });
      assert.deepEqual(objects.created.map((one) => path(one.url)), [`${path(collection.url)}${method}.${its.suffix}`]);
      assert.deepEqual(objects.updated.map((one) => path(one.url)), [path(changed.url)]);
      assert.ok(objects.updated[0].data.includes("Changed"), objects.updated[0].data);
      assert.deepEqual(objects.deleted.map((one) => path(one.url)), [path(removed.url)]);
    });
  }

  await step(`${kind}: a change of an older version is refused, and harms nothing`, async () => {
    const old = await listed("First 9.");
    accepted(await its.update(client, { ...old, data: old.data.replace("First 9.", "Nine here") }), 200, 204);
    accepted(await its.update(client, { ...old, data: old.data.replace("First 9.", "Nine there") }), 412);
    accepted(await its.remove(client, old), 412);
    assert.ok(await listed("Nine here"));
  });

  if (its.generated) {
    await step(`${kind}: generated records of every kind are fetched, singly and together`, async () => {
      const generated = (await its.list(client)).find((one) => path(one.url) === its.generated);
      const objects = await its.fetch(client, generated, { urlFilter: () => true });
      assert.ok(objects.length > 100 && objects.every((one) => one.etag && one.data.startsWith("BEGIN:V")));
      const some = objects.slice(0, 20);
      const again = await its.fetch(client, generated, { objectUrls: some.map((one) => path(one.url)) });
      assert.deepEqual(again.map((one) => one.etag).sort(), some.map((one) => one.etag).sort());
    });
  }

  if (kind === "calendar") {
    await step("calendar: a time range, as it is and expanded", async () => {
      const rule = ["RRULE:FREQ=DAILY;COUNT=20"];
      accepted(await its.create(client, collection, "daily.ics", its.text("Daily", "10", rule)), 201);
      const timeRange = { start: "2030-01-14T00:00:00Z", end: "2030-01-17T00:00:00Z" };
      const whole = await its.fetch(client, collection, { timeRange });
      assert.equal(whole.length, 1);
      assert.ok(whole[0].data.includes("RRULE"));
      for (const useMultiGet of [true, false]) {
        const [expanded] = await its.fetch(client, collection, { timeRange, expand: true, useMultiGet });
        assert.equal(expanded.data.split("BEGIN:VEVENT").length - 1, 3, expanded.data);
        assert.ok(!expanded.data.includes("RRULE"));
      }
    });

    await step("calendar: free and busy", async () => {
      const timeRange = { start: "2030-01-14T00:00:00Z", end: "2030-01-15T00:00:00Z" };
      const answer = await client.freeBusyQuery({ url: collection.url, timeRange });
      accepted(answer, 200);
      assert.match(JSON.stringify(answer), /20300114T100000Z/);
    });

    await step("calendar: a person's addresses", async () => {
      assert.ok(await client.fetchCalendarUserAddresses({ account: client.account }));
    });
  }

  if (reader) {
    await step(`${kind}: a device that may only read writes nothing`, async () => {
      const readers = await logIn(its.account, reader);
      const seen = (await its.list(readers)).find((one) => one.url === collection.url);
      accepted(await its.create(readers, seen, `reader.${its.suffix}`, its.text("Reader")), 403);
      const objects = await its.fetch(readers, seen);
      accepted(await its.remove(readers, objects[0]), 403);
      assert.ok(!find(objects, "Reader") && objects.length >= 30);
    });
  }

  await step(`${kind}: the collection is removed`, async () => {
    accepted(await client.deleteObject({ url: collection.url }), 200, 204);
    assert.ok(!(await its.list(client)).some((one) => one.url === collection.url));
  });
}

for (const [kind, its] of Object.entries(KINDS)) {
  if (!only || kind.includes(only)) await runKind(kind, its);
}
