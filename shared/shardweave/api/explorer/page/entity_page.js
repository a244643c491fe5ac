/** An entity's records by any of its indexes: sorted, filtered, with relations, and why they are read as they are. */

import { html, nothing } from "./lit-html/lit-html.js";
import { live } from "./lit-html/directives/live.js";
import { ask, shownText, valueAt } from "./api.js";
import { Choices, label } from "./choices.js";
import { firstClicks } from "./clicks.js";
import { columnsMenu, visibleColumns } from "./columns.js";
import { explainPanel } from "./explain.js";
import { Pages, grid, pager, problemNote } from "./grid.js";
import { conditionOf, contentOf, control, options, shown } from "./schema.js";

const TESTS = { eq: "=", ne: "≠", lt: "<", le: "≤", gt: ">", ge: "≥", begins_with: "begins with", contains: "contains", exists: "exists" };
const RANGES = { "": "any", eq: "=", prefix: "begins with", between: "from … to" };

export class EntityPage {
  constructor(app, entity) {
    this.app = app;
    this.entity = entity;
    this.caption = entity.name;
    this.pages = new Pages({
      compose: () => ({ body: this.query(), reverse: this.reverse }),
      fetch: (list, question) => this.fetch(list, question),
      explain: ({ body: { expand, ...body } }) => ask("POST", `/v1/${entity.collection}/explain`, { body }),
      changed: () => app.update(),
    });
    this.choices = new Choices(app, entity, entity.indexes.flatMap((each) => each.fixed));
    this.index = entity.indexes.find((each) => each.name === null) ?? entity.indexes[0]; // None: see `byKey`.
    this.key = {};
    this.fixed = {};
    this.ranges = {};
    this.filters = [];
    this.expand = new Set();
    this.reverse = false;
    this.costless = false;
  }

  async enter() {
    await this.choices.find();
    this.suggest();
    if (!this.pages.begun) await this.run();
  }

  /** The first choice of what an index needs, where there is a choice. */
  suggest() {
    if (!this.index) return;
    for (const name of this.index.fixed) {
      const content = this.content(name);
      if (content.kind === "boolean") this.fixed[name] ??= "true";
      const first = this.choices.of(name)?.[0]?.value ?? content.options?.[0];
      if (first !== undefined) this.fixed[name] ??= String(first);
    }
  }

  get isReady() {
    return this.index?.fixed.every((name) => this.fixed[name]) ?? false;
  }

  property(name) {
    return [...this.entity.properties, ...this.entity.members].find((each) => each.name === name);
  }

  content(name) {
    return contentOf(this.property(name)?.content ?? {}, this.entity.definitions);
  }

  // -- what is asked

  /** The query that the form says. Throws an Error that names what can't be read. */
  query() {
    const conditions = {};
    const read = (name, text) => named(name, () => conditionOf(this.property(name), this.content(name), text));
    for (const name of this.index.fixed) conditions[name] = read(name, this.fixed[name]);
    for (const { name } of this.index.ordered) {
      const { test = "", low = "", high = "" } = this.ranges[name] ?? {};
      if (test === "eq" && low) conditions[name] = read(name, low);
      else if (test === "prefix" && low) conditions[name] = { prefix: low };
      else if (test === "between" && (low || high)) {
        conditions[name] = { ...(low && { from: read(name, low) }), ...(high && { to: read(name, high) }) };
      }
    }
    const filters = this.filters.filter((each) => each.property && (each.value || each.test === "exists"));
    const tests = filters.map((each) => ({ property: each.property, [each.test]: this.filterValue(each) }));
    return {
      ...(Object.keys(conditions).length && { conditions }),
      ...(this.index.name && { index: this.index.name }),
      ...(tests.length && { filter: tests.length > 1 ? { and: tests } : tests[0] }),
      ...(this.expand.size && { expand: [...this.expand] }),
    };
  }

  filterValue({ property, test, value }) {
    if (test === "exists") return value !== "false";
    if (test === "begins_with") return value;
    return named(property, () => conditionOf(this.property(property), this.content(property), value));
  }

  async fetch(list, { fromEnd, limit, nextToken, prevToken }) {
    const body = { ...list.body, reverse: list.reverse !== fromEnd, limit, nextToken, prevToken };
    const path = `/v1/${this.entity.collection}/query`;
    let answer;
    try {
      answer = await ask("POST", path, { body: this.costless ? body : { ...body, stats: true } });
    } catch (problem) {
      if (problem.where !== "stats") throw problem;
      this.costless = true; // What is read is not told to this caller.
      answer = await ask("POST", path, { body });
    }
    return { ...answer, body };
  }

  run() {
    return this.isReady ? this.pages.turn("first") : undefined;
  }

  choose(index) {
    this.index = index;
    this.ranges = {};
    this.suggest();
    this.pages.clear();
    this.run() ?? this.app.update();
  }

  /** The index that sorts by a column, of those that need the same properties as the one that is shown. */
  sorting(name) {
    const same = (each) => each.fixed.join() === this.index.fixed.join();
    if (this.index.ordered[0]?.name === name) return this.index;
    return this.entity.indexes.find((each) => same(each) && each.ordered[0]?.name === name);
  }

  sort(name) {
    const index = this.sorting(name);
    this.reverse = index === this.index ? !this.reverse : index.ordered[0].descending;
    if (index !== this.index) this.choose(index);
    else this.run();
  }

  // -- what is shown

  get columns() {
    const all = this.index.shown && !this.expand.size ? this.index.shown : this.entity.properties.map((each) => each.name);
    const claims = new Set(this.entity.claims);
    const names = all.filter((name) => !claims.has(name));
    const own = names.map((name) => ({
      name,
      label: name,
      cell: (row) => shown(row[name], this.property(name)?.time),
      sort: this.sorting(name) ? () => this.sort(name) : undefined,
    }));
    const related = [...this.expand].map((name) => ({
      name: `+${name}`,
      label: `+ ${name}`,
      cell: (row) => this.related(name, row.expanded?.[name]),
    }));
    return [...own, ...related];
  }

  related(name, found) {
    if (!found) return nothing;
    const target = this.app.service.entities.find(
      (each) => each.token === this.entity.relations.find((relation) => relation.name === name).entity,
    );
    const one = (record) => html`<details>
      <summary>${label(record)}</summary>
      <dl>
        ${Object.entries(record).map(
          ([key, value]) =>
            html`<dt>${key}</dt>
              <dd>${shown(value, target?.properties.find((each) => each.name === key)?.time)}</dd>`,
        )}
      </dl>
    </details>`;
    return Array.isArray(found) ? found.map(one) : one(found);
  }

  get sorted() {
    const first = this.index.ordered[0];
    return first && { name: first.name, descending: this.reverse !== first.descending };
  }

  /** No list shows the records of an entity that has no index here: they are opened by their keys. */
  byKey() {
    const { entity } = this;
    const open = (event) => {
      event.preventDefault();
      this.app.record.open(entity, this.key);
    };
    const field = (name) => html`<label>${name}
      ${control({
        content: this.content(name),
        text: this.key[name] ?? "",
        required: true,
        changed: (text) => {
          this.key[name] = text;
        },
      })}
    </label>`;
    return html`<h1>${entity.name}</h1>
      <p class="note">${entity.description.split("\n")[0]}</p>
      <p>No list shows these records. Each is opened by its key.</p>
      <form class="tools" @submit=${open}>
        ${entity.identity.map(field)}
        <span class="buttons">
          <button type="submit" class="main" id="open">Open</button>
          ${this.creation()}
        </span>
      </form>`;
  }

  creation() {
    const { entity } = this;
    return entity.operations.includes("create")
      ? html`<button type="button" id="create" @click=${() => this.app.record.create(entity)}>New …</button>`
      : nothing;
  }

  render() {
    if (!this.index) return this.byKey();
    const { entity, pages } = this;
    const columns = visibleColumns(this.app, entity.token, this.columns);
    return html`<h1>${entity.name}</h1>
      <p class="note">${entity.description.split("\n")[0]}</p>
      <form class="tools" @submit=${(event) => this.submit(event)}>
        <label>Index
          <select id="index" @change=${(event) => this.choose(entity.indexes[event.target.selectedIndex])}>
            ${options(entity.indexes.map(({ name }) => ({ value: name ?? "", label: name ?? "the table" })), this.index.name ?? "")}
          </select>
        </label>
        ${this.index.fixed.map((name) => this.fixedControl(name))}
        ${this.index.ordered.map(({ name }, place) => this.rangeControl(name, place))}
        <label class="check"><input type="checkbox" id="reverse" .checked=${live(this.reverse)}
          @change=${(event) => this.turnRound(event.target.checked)} /> reverse</label>
        ${entity.relations.map(
          (each) => html`<label class="check"><input type="checkbox" .checked=${live(this.expand.has(each.name))}
            @change=${(event) => this.toggle(each.name, event.target.checked)} /> + ${each.name}</label>`,
        )}
        ${this.filters.map((each, place) => this.filterControl(each, place))}
        <span class="buttons">
          <button type="button" id="add-filter" @click=${() => this.addFilter()}>Filter</button>
          ${columnsMenu(this.app, entity.token, this.columns)}
          <button type="submit" class="main">Show</button>
          ${this.creation()}
        </span>
      </form>
      ${this.isReady ? nothing : html`<p class="note">This index needs ${this.index.fixed.join(" and ")}.</p>`}
      ${problemNote(pages.problem)}
      ${grid({
        pages,
        caption: `${entity.name} by ${this.index.name ?? "the table"}`,
        columns,
        sorted: this.sorted,
        open: (row) => this.app.record.open(entity, row),
        keyOf: (row) => entity.identity.map((name) => shownText(valueAt(row, name))).join("/"),
      })}
      ${pager(pages)}
      ${explainPanel(pages)}`;
  }

  fixedControl(name) {
    return html`<label>${name}
      ${control({
        content: this.content(name),
        text: this.fixed[name] ?? "",
        required: true,
        choices: this.choices.of(name),
        disabled: this.choices.isSought(name),
        changed: (text) => this.fix(name, text),
      })}
    </label>`;
  }

  fix(name, text) {
    this.fixed[name] = text;
    if (this.choices.of(name)) this.run();
    this.app.update();
  }

  /** A property of the range key may be narrowed when all before it are equal to a value. */
  rangeControl(name, place) {
    const before = this.index.ordered.slice(0, place);
    if (!before.every((each) => this.ranges[each.name]?.test === "eq" && this.ranges[each.name].low)) return nothing;
    const range = (this.ranges[name] ??= { test: "", low: "", high: "" });
    const content = this.content(name);
    const begins = content.kind === "text" && this.index.ordered[place].begins;
    const texts = Object.entries(RANGES).filter(([test]) => test !== "prefix" || begins);
    const change = (member, value) => {
      range[member] = value;
      this.app.update();
    };
    return html`<fieldset class="range">
      <legend>${name}</legend>
      <select aria-label="${name}: test" @change=${(event) => change("test", event.target.value)}>
        ${options(texts.map(([value, label]) => ({ value, label })), range.test)}
      </select>
      ${range.test
        ? control({ content, text: range.low, label: `${name}: ${range.test === "between" ? "from" : "value"}`, changed: (text) => change("low", text) })
        : nothing}
      ${range.test === "between"
        ? control({ content, text: range.high, label: `${name}: to`, changed: (text) => change("high", text) })
        : nothing}
    </fieldset>`;
  }

  filterControl(filter, place) {
    const change = (member, value) => {
      filter[member] = value;
      this.app.update();
    };
    const content = filter.test === "exists" ? { kind: "boolean" } : this.content(filter.property);
    return html`<fieldset class="range" @click=${firstClicks}>
      <legend>Filter ${place + 1}</legend>
      <select aria-label="Property" @change=${(event) => change("property", event.target.value)}>
        ${options(this.entity.properties.map(({ name }) => ({ value: name, label: name })), filter.property)}
      </select>
      <select aria-label="Test" @change=${(event) => change("test", event.target.value)}>
        ${options(Object.entries(TESTS).map(([value, label]) => ({ value, label })), filter.test)}
      </select>
      ${control({ content, text: filter.value, label: "Value", changed: (text) => change("value", text) })}
      <button type="button" aria-label="Remove filter ${place + 1}" @click=${() => this.removeFilter(place)}>×</button>
    </fieldset>`;
  }

  addFilter() {
    this.filters.push({ property: this.entity.properties[0].name, test: "eq", value: "" });
    this.app.update();
  }

  removeFilter(place) {
    this.filters.splice(place, 1);
    this.run();
    this.app.update();
  }

  turnRound(reverse) {
    this.reverse = reverse;
    this.run();
  }

  toggle(name, on) {
    if (on) this.expand.add(name);
    else this.expand.delete(name);
    this.run();
  }

  submit(event) {
    event.preventDefault();
    this.run();
  }

  reload() {
    return this.isReady ? this.pages.turn("same") : undefined;
  }
}

function named(name, read) {
  try {
    return read();
  } catch (error) {
    throw Object.assign(new Error(error.message), { title: "Not asked", where: name });
  }
}
