// Reads vCards with ical.js and prints their properties, one a line; see foreign_readers.rs.

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [library, file] = process.argv.slice(2);
const { default: ICAL } = await import(pathToFileURL(library));

const escape = text =>
  String(text).replace(/[\\\n|,\t]/g, c => '\\' + { '\\': '\\', '\n': 'n', '|': 'p', ',': 'c', '\t': 't' }[c]);
const list = value => (Array.isArray(value) ? value : [value]);

function line([name, params, type, ...values], isV3) {
  const key = name.toUpperCase();
  const types = list(params.type ?? []).flatMap(kind => kind.split(',')).map(kind => kind.toLowerCase());
  if (params.pref === '1') types.push('pref');
  if (params.encoding?.toLowerCase() === 'b') {
    return `${key};\t${Buffer.from(values[0], 'base64').toString('hex')}`;
  }
  if (['BDAY', 'ANNIVERSARY', 'X-EVOLUTION-ANNIVERSARY'].includes(key)) {
    const date = String(values[0]).replaceAll('-', '');
    const year = params['x-apple-omit-year'] ?? '';
    return `DATE ${key};\t${year && date.startsWith(year) ? date.slice(year.length) : date}`;
  }
  // ical.js reads GEO of 3.0 as two numbers, and prints them as such.
  if (key === 'GEO' && type === 'float') return `GEO;\t${escape(list(values[0]).join(';'))}`;
  // The value of an unknown property keeps its escapes.
  if (type === 'unknown') values = values.map(value => value.replace(/\\([\\,;])/g, '$1'));
  // ical.js keeps the escape of semicolons that RFC 2426 section 4 requires in texts of 3.0.
  if (isV3 && type === 'text') values = values.map(value => (Array.isArray(value) ? value : value.replaceAll('\\;', ';')));
  const parts = Array.isArray(values[0]) ? values[0].map(part => list(part)) : [values];
  let text = `${key};${[...new Set(types)].sort().join(',')}\t`;
  text += parts.map(part => part.map(escape).join(',')).join('|');
  for (const parameter of ['label', 'sort-as']) {
    if (params[parameter] !== undefined) {
      text += `\n${key} ${parameter.toUpperCase()}\t${escape(list(params[parameter]).join(','))}`;
    }
  }
  return text;
}

let out = '';
for (const text of readFileSync(file, 'utf8').split(/(?<=\r\nEND:VCARD\r\n)/)) {
  const [, properties] = ICAL.parse(text);
  const isV3 = properties.some(([name, , , value]) => name === 'version' && value === '3.0');
  for (const property of properties) if (property[0] !== 'version') out += line(property, isV3) + '\n';
  out += '=\n';
}
process.stdout.write(out);
