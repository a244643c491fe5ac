/** Choices for a property that names a record of another entity: those records, where they are few. */

import { ask, shownText, valueAt } from "./api.js";

const MOST = 100;

/** Find the choices of a property, once; none where the records are many, or may not be seen. */
export async function choicesFor(app, entity, name) {
  const place = `${entity?.token ?? ""}.${name}`;
  const { choices } = app;
  if (choices.has(place)) return;
  const named = (each) => each.identity.filter((part) => !each.claims.includes(part));
  const target = app.service.entities.find((each) => each !== entity && named(each).join() === name);
  if (!target) return;
  try {
    const { document } = await ask("GET", `/v1/${target.collection}?limit=${MOST}`);
    if (document.nextToken || !document.items.length) return;
    choices.set(
      place,
      document.items.map((each) => ({ value: shownText(valueAt(each, name)), label: label({ ...each, [name]: undefined }) })),
    );
  } catch {
    // The property is then written by hand.
  }
}

/** What a record is called: a name or a title, else the first text that it has. */
export function label(record) {
  const texts = Object.entries(record).filter(([, value]) => typeof value === "string");
  const found = texts.find(([name]) => /name$|^title$/i.test(name)) ?? texts[0];
  return found ? found[1] : "record";
}
