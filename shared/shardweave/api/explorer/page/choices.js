/** Choices for a property that names a record of another entity: those records, where they are few. */

import { ask, shownText, valueAt } from "./api.js";

const MOST = 100;

/** The choices of some of an entity's properties, or of a list's parameters. */
export class Choices {
  constructor(app, entity, names) {
    this.found = app.choices; // Another caller's go into another map.
    this.entity = entity;
    this.targets = new Map();
    for (const name of new Set(names)) {
      const target = app.service.entities.find((each) => each !== entity && named(each).join() === name);
      if (target) this.targets.set(name, target);
    }
    this.sought = new Set([...this.targets.keys()].filter((name) => !this.of(name)));
  }

  /** The choices of a property; none where the records are many, or may not be seen, or until they have come. */
  of(name) {
    return this.found.get(this.place(name));
  }

  /** Whether they have not come yet: until then nothing is written in their place. */
  isSought(name) {
    return this.sought.has(name);
  }

  /** Find them all, each once while a token is in use. */
  async find() {
    await Promise.all([...this.sought].map((name) => this.seek(name)));
  }

  async seek(name) {
    try {
      const { document } = await ask("GET", `/v1/${this.targets.get(name).collection}?limit=${MOST}`);
      const few = !document.nextToken && document.items.length;
      if (few) this.found.set(this.place(name), document.items.map((each) => choice(each, name)));
    } catch {
      // The property is then written by hand.
    }
    this.sought.delete(name);
  }

  place(name) {
    return `${this.entity?.token ?? ""}.${name}`;
  }
}

/** The properties that name a record of an entity within what its caller may see. */
const named = (entity) => entity.identity.filter((part) => !entity.claims.includes(part));

const choice = (record, name) => ({ value: shownText(valueAt(record, name)), label: label({ ...record, [name]: undefined }) });

/** What a record is called: a name or a title, else the first text that it has. */
export function label(record) {
  const texts = Object.entries(record).filter(([, value]) => typeof value === "string");
  const found = texts.find(([name]) => /name$|^title$/i.test(name)) ?? texts[0];
  return found ? found[1] : "record";
}
