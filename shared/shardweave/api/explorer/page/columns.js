/** Which columns a grid shows, and in which order: chosen by the reader, kept in this browser by their names. */

import { html } from "./lit-html/lit-html.js";
import { live } from "./lit-html/directives/live.js";
import { repeat } from "./lit-html/directives/repeat.js";

const KEPT = "shardweave-columns ";
const FIRST = 8;

function kept(app, grid) {
  try {
    const found = JSON.parse(localStorage.getItem(KEPT + app.service.service + "/" + grid));
    return Array.isArray(found) ? found : null;
  } catch {
    return null;
  }
}

/** The columns to show. Until some are chosen, the first that there are, and relations. */
export function visibleColumns(app, grid, columns) {
  const names = kept(app, grid);
  if (!names) return columns.filter((each, place) => place < FIRST || each.name.startsWith("+"));
  const found = names.map((name) => columns.find((each) => each.name === name)).filter(Boolean);
  const related = columns.filter((each) => each.name.startsWith("+") && !found.includes(each));
  return found.length ? [...found, ...related] : columns;
}

/** The menu that chooses them. */
export function columnsMenu(app, grid, columns) {
  const names = visibleColumns(app, grid, columns).map((each) => each.name);
  const keep = (chosen) => {
    localStorage.setItem(KEPT + app.service.service + "/" + grid, JSON.stringify(chosen));
    const { activeElement } = document;
    app.update();
    queueMicrotask(() => activeElement.focus()); // Where its column is now.
  };
  const move = (name, by) => {
    const chosen = names.filter((each) => each !== name);
    chosen.splice(Math.max(0, names.indexOf(name) + by), 0, name);
    keep(chosen);
  };
  const others = columns.map((each) => each.name).filter((name) => !names.includes(name));
  return html`<details class="menu">
    <summary>Columns</summary>
    <ul>
      ${repeat(
        [...names, ...others],
        (name) => name,
        (name) => html`<li>
          <label class="check"><input type="checkbox" .checked=${live(names.includes(name))}
            @change=${(event) => keep(event.target.checked ? [...names, name] : names.filter((each) => each !== name))} />
            ${name}</label>
          <button type="button" aria-label="Move ${name} to the left" ?disabled=${!names.includes(name)}
            @click=${() => move(name, -1)}>↑</button>
          <button type="button" aria-label="Move ${name} to the right" ?disabled=${!names.includes(name)}
            @click=${() => move(name, 1)}>↓</button>
        </li>`,
      )}
    </ul>
  </details>`;
}
