/** A list that the service declares itself, such as a grid of issues: its parameters as a form, its pages as a grid. */

import { html, nothing } from "./lit-html/lit-html.js";
import { ask, shownText, valueAt } from "./api.js";
import { Choices } from "./choices.js";
import { columnsMenu, visibleColumns } from "./columns.js";
import { bar, explainPanel } from "./explain.js";
import { Pages, grid, pager, problemNote } from "./grid.js";
import { contentOf, control, shown } from "./schema.js";

const OF_PAGES = new Set(["limit", "nextToken", "prevToken", "reverse", "timeLimitMs", "onShardError", "sort"]);

export class ViewPage {
  constructor(app, view) {
    this.app = app;
    this.view = view;
    this.caption = view.summary;
    this.entity = app.service.entities.find((each) => each.collection === view.collection);
    this.pages = new Pages({
      compose: () => this.given(),
      fetch: (given, question) => this.fetch(given, question),
      explain: ({ given }) => this.explain(given),
      changed: () => app.update(),
    });
    this.choices = new Choices(app, undefined, this.parameters.map((each) => each.name));
    this.values = {};
    this.sort = "";
  }

  get parameters() {
    return this.view.parameters.filter((each) => !OF_PAGES.has(each.name));
  }

  get sorts() {
    return this.view.parameters.some((each) => each.name === "sort");
  }

  async enter() {
    await this.choices.find();
    for (const { name } of this.parameters) this.values[name] ??= this.choices.of(name)?.[0].value;
    if (!this.pages.begun) await this.run();
  }

  get isReady() {
    return this.parameters.every((each) => !each.required || this.values[each.name]);
  }

  run() {
    return this.isReady ? this.pages.turn("first") : this.app.update();
  }

  given() {
    const found = new URLSearchParams();
    for (const { name } of this.parameters) if (this.values[name]) found.set(name, this.values[name]);
    if (this.sort) found.set("sort", this.sort);
    return found;
  }

  async fetch(given, { fromEnd, limit, nextToken, prevToken }) {
    const asked = new URLSearchParams(given);
    asked.set("limit", limit);
    if (fromEnd) asked.set("reverse", "true");
    if (nextToken) asked.set("nextToken", nextToken);
    if (prevToken) asked.set("prevToken", prevToken);
    return { ...(await ask("GET", `${this.view.path}?${asked}`)), given };
  }

  explain(given) {
    const { explain } = this.view;
    const asked = new URLSearchParams(given);
    if (explain.endsWith("/explain")) asked.set("run", "true");
    return ask("GET", `${explain}?${asked}`);
  }

  // -- what is shown

  /** The columns that the answer names, else the members of its items; custom fields stand among them by their names. */
  get columns() {
    const { document } = this.pages.answer ?? {};
    if (!document) return [];
    const names = document.columns ?? membersOf(document.items).map((name) => ({ name, custom: false }));
    const times = new Map(this.entity?.properties.map((each) => [each.name, each.time]));
    return names.map(({ name, custom }) => ({
      name,
      label: name,
      cell: (row) => shown(custom ? row.custom?.[name] : row[name], times.get(name)),
      sort: this.sorts && document.columns ? () => this.sortBy(name) : undefined,
    }));
  }

  get sorted() {
    const first = (this.sort || (this.sorts ? this.columns[0]?.name : "") || "").split(",")[0];
    return first ? { name: first.replace(/^-/, ""), descending: first.startsWith("-") } : undefined;
  }

  sortBy(name) {
    const { sorted } = this;
    this.sort = sorted?.name === name && !sorted.descending ? `-${name}` : name;
    this.run();
  }

  render() {
    const { view, pages, entity } = this;
    const columns = visibleColumns(this.app, view.name, this.columns);
    return html`<h1>${view.summary}</h1>
      <form class="tools" @submit=${(event) => this.submit(event)}>
        ${this.parameters.map(
          (each) => html`<label>${each.name}
            ${control({
              content: contentOf(each.content),
              text: this.values[each.name] ?? "",
              required: each.required,
              choices: this.choices.of(each.name),
              disabled: this.choices.isSought(each.name),
              changed: (text) => this.change(each, text),
            })}
          </label>`,
        )}
        <span class="buttons">
          ${columnsMenu(this.app, view.name, this.columns)}
          <button type="submit" class="main">Show</button>
          ${entity?.operations.includes("create")
            ? html`<button type="button" id="create" @click=${() => this.app.record.create(entity)}>New …</button>`
            : nothing}
        </span>
      </form>
      ${problemNote(pages.problem)}
      ${grid({
        pages,
        caption: view.summary,
        columns,
        sorted: this.sorted,
        open: (row) => entity && this.app.record.open(entity, row),
        keyOf: (row) => (entity ? entity.identity.map((name) => shownText(valueAt(row, name))).join("/") : undefined),
      })}
      ${pager(pages)}
      ${view.explain ? explainPanel(pages, members, "Explain this list") : nothing}`;
  }

  change({ name }, text) {
    this.values[name] = text;
    if (this.choices.of(name) || contentOf(this.view.parameters.find((each) => each.name === name).content).options) {
      this.run();
    }
    this.app.update();
  }

  submit(event) {
    event.preventDefault();
    this.run();
  }

  reload() {
    return this.isReady ? this.pages.turn("same") : undefined;
  }
}

/** An explanation of the service's own: its members. */
function members(plan) {
  return html`<dl>
    ${Object.entries(plan).map(
      ([name, value]) => html`<dt>${name}</dt>
        <dd>${detail(name, value)}</dd>`,
    )}
  </dl>`;
}

/** A member of an explanation: a list of objects is a table, in which numbers are bars too. */
function detail(name, value) {
  if (!Array.isArray(value)) return shownText(value);
  if (!value.length || typeof value[0] !== "object") return value.map((each) => html`<div>${shownText(each)}</div>`);
  const columns = membersOf(value);
  const most = (column) => Math.max(0, ...value.map((each) => Number(each[column]) || 0));
  const cell = (each, column) =>
    typeof each[column] === "number"
      ? bar(each[column], most(column), Number(each[column].toFixed(2)))
      : shownText(each[column]);
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${name}>
    <table class="lanes">
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col">${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${value.map((each) => html`<tr>
          ${columns.map((column) => html`<td>${cell(each, column)}</td>`)}
        </tr>`)}
      </tbody>
    </table>
  </div>`;
}

function membersOf(items) {
  return [...new Set(items.flatMap((each) => Object.keys(each)))];
}
