/** A grid of records in pages: forwards, backwards, from either end, by mouse and by keys. */

import { html, nothing } from "./lit-html/lit-html.js";
import { repeat } from "./lit-html/directives/repeat.js";
import { options } from "./schema.js";

export const LIMITS = [10, 25, 50, 100, 250, 500];

/** The state of a grid. `compose()` says which list the form asks for, `fetch(list, question)` asks for a page of it,
 * `explain(answer)` why it was read as it was, while a reader wants to know; `changed()` shows what is new. What is told
 * of a page that is no longer the one that is asked for is never shown, in whatever order the answers come; and a page
 * is turned within the list that is shown, whatever the form says by then.
 *
 * The last page is the first one of the reverse order, shown the other way round: it costs what any page costs.
 */
export class Pages {
  constructor({ compose, fetch, explain, changed }) {
    Object.assign(this, { compose, fetch, explain, changed, explains: false });
    this.limit = 25;
    this.asked = 0;
    this.clear();
  }

  clear() {
    Object.assign(this, { answer: null, explanation: null, problem: null });
    this.here = null; // The page that is shown: its list, its question, and its number.
    this.coming = null; // The page that is asked for.
    this.begun = false;
    this.asked += 1;
  }

  get busy() {
    return this.coming !== null;
  }

  get fromEnd() {
    return this.here?.question.fromEnd ?? false;
  }

  get rows() {
    const items = this.answer?.document.items ?? [];
    return this.fromEnd ? [...items].reverse() : items;
  }

  get following() {
    return this.fromEnd ? this.answer?.document.prevToken : this.answer?.document.nextToken;
  }

  get preceding() {
    return this.fromEnd ? this.answer?.document.nextToken : this.answer?.document.prevToken;
  }

  /** Show another page: the first, next, previous or last, or the same once more. */
  async turn(way) {
    const beside = { next: this.following, prev: this.preceding };
    if (way in beside && (!beside[way] || this.isLeaving)) return;
    const asked = ++this.asked;
    this.begun = true;
    try {
      const page = (this.coming = this.page(way, beside[way]));
      this.changed();
      const answer = await this.fetch(page.list, page.question);
      if (asked !== this.asked) return;
      Object.assign(this, { answer, here: page, problem: null, explanation: null });
      if (this.explains) this.tellWhy();
    } catch (problem) {
      if (asked !== this.asked) return;
      this.problem = problem;
    }
    this.coming = null;
    this.changed();
  }

  /** Whether another list is on its way: no page beside the one that is shown is of it. */
  get isLeaving() {
    return this.coming !== null && this.coming.list !== this.here.list;
  }

  page(way, token) {
    const { limit, fromEnd } = this;
    const shown = this.coming ?? this.here;
    if (way === "same" && shown) return shown;
    if (way === "next" || way === "prev") {
      const question = { fromEnd, limit, [(way === "next") === fromEnd ? "prevToken" : "nextToken"]: token };
      return { list: this.here.list, question, number: this.here.number + (way === "next" ? 1 : -1) };
    }
    const question = { fromEnd: way === "last", limit };
    return { list: this.compose(), question, number: way === "last" ? -1 : 1 };
  }

  /** Tell why each page is read as it is, or no longer. */
  toggle(explains) {
    if (explains === this.explains) return;
    this.explains = explains;
    if (explains && this.answer && !this.explanation) this.tellWhy();
    this.changed();
  }

  async tellWhy() {
    const { answer } = this;
    const told = {};
    try {
      told.plan = (await this.explain(answer)).document;
    } catch (problem) {
      told.problem = problem;
    }
    if (answer !== this.answer) return;
    this.explanation = told;
    this.changed();
  }
}

/** The table of a grid. `columns` have `name`, `label`, `cell(row)` and, where a click sorts, `sort()`; `sorted` is
 * `{name, descending}`. */
export function grid({ pages, caption, columns, sorted, open, keyOf }) {
  return html`<div class="grid" tabindex="0" role="region" aria-label=${caption} aria-busy=${pages.busy}
    @keydown=${(event) => onKey(event, pages, open)}>
    <table>
      <caption class="hidden">${caption}</caption>
      <thead>
        <tr>
          ${columns.map((column) => heading(column, sorted))}
        </tr>
      </thead>
      <tbody>
        ${repeat(
          pages.rows,
          (row, place) => keyOf(row) || place,
          (row) => html`<tr tabindex="-1" @dblclick=${() => open(row)}>
            ${columns.map((column, place) =>
              place
                ? html`<td>${column.cell(row)}</td>`
                : html`<th scope="row">
                    <button class="link" @click=${() => open(row)}>${column.cell(row)}</button>
                  </th>`,
            )}
          </tr>`,
        )}
      </tbody>
    </table>
    ${pages.answer && !pages.rows.length ? html`<p class="note">No records.</p>` : nothing}
  </div>`;
}

function heading(column, sorted) {
  const here = sorted?.name === column.name;
  const way = here ? (sorted.descending ? "descending" : "ascending") : column.sort ? "none" : nothing;
  if (!column.sort) return html`<th scope="col" aria-sort=${way}>${column.label}</th>`;
  return html`<th scope="col" aria-sort=${way}>
    <button class="sort" @click=${column.sort}>
      ${column.label}${here ? arrow(sorted.descending) : nothing}
    </button>
  </th>`;
}

const arrow = (descending) => html`<svg class="arrow" viewBox="0 0 8 8" aria-hidden="true"
  ><path d=${descending ? "M0 2h8L4 7z" : "M0 6h8L4 1z"}></path></svg>`;

/** Keys count only while the focus is in the grid. */
function onKey(event, pages, open) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = [...event.currentTarget.querySelectorAll("tbody tr")];
  const here = rows.indexOf(document.activeElement?.closest("tbody tr"));
  const to = { ArrowDown: Math.min(here + 1, rows.length - 1), ArrowUp: Math.max(here - 1, 0) }[event.key];
  const way = { PageDown: "next", PageUp: "prev", Home: "first", End: "last" }[event.key];
  if (to !== undefined) rows[to]?.focus();
  else if (way) {
    event.currentTarget.focus(); // The row that has the focus goes away with its page.
    pages.turn(way);
  }
  else if (event.key === "Enter" && document.activeElement?.tagName === "TR") open(pages.rows[here]);
  else return;
  event.preventDefault();
}

/** The buttons below a grid, and what the page cost. */
export function pager(pages) {
  const button = (way, label, can) =>
    html`<button data-way=${way} ?disabled=${!can} @click=${() => pages.turn(way)}>${label}</button>`;
  const document = pages.answer?.document;
  return html`<div class="pager" role="group" aria-label="Pages">
    ${button("first", "First", document)} ${button("prev", "Previous", pages.preceding)}
    ${button("next", "Next", pages.following)} ${button("last", "Last", document)}
    <label>Rows
      <select @change=${(event) => resize(pages, event)}>
        ${options(LIMITS.map((each) => ({ value: each, label: each })), pages.limit)}
      </select>
    </label>
    <span role="status" class="note">${pages.busy ? "Reading …" : summary(pages)}</span>
  </div>`;
}

function resize(pages, event) {
  pages.limit = Number(event.target.value);
  pages.turn(pages.fromEnd ? "last" : "first");
}

function summary(pages) {
  const document = pages.answer?.document;
  if (!document) return "";
  const { number } = pages.here;
  const place = number > 0 ? `page ${number}` : number === -1 ? "last page" : `${-number}. page from the end`;
  const parts = [place, `${document.items.length} records`, `${pages.answer.milliseconds.toFixed(0)} ms`];
  const stats = document.stats;
  if (stats) parts.push(`${stats.requests} reads`, `${stats.units} units`);
  if (!document.complete) parts.push("cut short");
  if (document.unreadable?.length) parts.push(`${document.unreadable.length} unreadable`);
  return parts.join(" · ");
}

/** What went wrong, and what to do. */
export function problemNote(problem) {
  if (!problem) return nothing;
  return html`<div class="problem" role="alert">
    <strong>${problem.title ?? "Error"}</strong>
    <span>${problem.where ? `${problem.where}: ` : ""}${problem.message}</span>
    ${problem.fix ? html`<span class="fix">${problem.fix}</span>` : nothing}
  </div>`;
}
