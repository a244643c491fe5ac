/** A grid of records in pages: forwards, backwards, from either end, by mouse and by keys. */

import { html, nothing } from "./lit-html/lit-html.js";
import { repeat } from "./lit-html/directives/repeat.js";

export const LIMITS = [10, 25, 50, 100, 250, 500];

/** The state of a grid. `fetch(question)` asks for a page, `explain(answer)` why it was read as it was, while a reader
 * wants to know; `changed()` shows what is new. What is told of a page that is no longer the one that is asked for is
 * never shown, in whatever order the answers come.
 *
 * The last page is the first one of the reverse order, shown the other way round: it costs what any page costs.
 */
export class Pages {
  constructor({ fetch, explain, changed }) {
    Object.assign(this, { fetch, explain, changed, explains: false });
    this.limit = 25;
    this.clear();
  }

  clear() {
    this.answer = null;
    this.explanation = null;
    this.problem = null;
    this.fromEnd = false;
    this.number = 0;
    this.busy = false;
    this.asked = (this.asked ?? 0) + 1;
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
    const question = { fromEnd: this.fromEnd, limit: this.limit, nextToken: undefined, prevToken: undefined };
    let number = this.number;
    if (way === "first" || way === "last") {
      question.fromEnd = way === "last";
      number = way === "last" ? -1 : 1;
    } else if (way === "same") {
      Object.assign(question, this.question ?? {}, { limit: this.limit });
    } else {
      const token = way === "next" ? this.following : this.preceding;
      if (!token) return;
      question[(way === "next") === this.fromEnd ? "prevToken" : "nextToken"] = token;
      number += way === "next" ? 1 : -1;
    }
    const asked = ++this.asked;
    this.busy = true;
    this.changed();
    try {
      const answer = await this.fetch(question);
      if (asked !== this.asked) return;
      Object.assign(this, { answer, question, fromEnd: question.fromEnd, number, problem: null });
      this.explanation = null;
      if (this.explains) this.tellWhy();
    } catch (problem) {
      if (asked !== this.asked) return;
      this.problem = problem;
    }
    this.busy = false;
    this.changed();
  }

  /** Tell why each page is read as it is, or no longer. */
  toggle(explains) {
    if (explains === this.explains) return;
    this.explains = explains;
    if (explains && this.answer && !this.explanation) this.tellWhy();
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
        ${LIMITS.map((each) => html`<option value=${each} ?selected=${each === pages.limit}>${each}</option>`)}
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
  const place = pages.number > 0 ? `page ${pages.number}` : pages.number === -1 ? "last page" : `${-pages.number}. page from the end`;
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
