/** One record in a dialog: open, edit, create, delete. A change is sent with the revision that was shown (If-Match);
 * where the record has changed since, both versions are shown, and the reader decides. */

import { html, nothing } from "./lit-html/lit-html.js";
import { ask, once, recordPath, shownText, useToken } from "./api.js";
import { problemNote } from "./grid.js";
import { contentOf, control, shown, valueOf } from "./schema.js";
import { tokenForm } from "./token.js";

export class RecordDialog {
  constructor(app) {
    this.app = app;
    this.mode = "";
  }

  async open(entity, record) {
    Object.assign(this, { entity, path: recordPath(entity, record), mode: "show", problem: null, record: null });
    this.app.update();
    await this.read();
  }

  async read() {
    await this.tried(async () => {
      const { document, etag } = await ask("GET", this.path);
      Object.assign(this, { record: document, etag });
    });
  }

  create(entity) {
    Object.assign(this, { entity, mode: "create", record: null, problem: null });
    this.form = {};
    const { properties } = entity.write;
    for (const [name, schema] of Object.entries(properties)) this.form[name] = shownText(schema.default);
    this.start = {};
    this.once = once();
    this.app.update();
  }

  edit() {
    this.start = Object.fromEntries(Object.keys(this.entity.patch.properties).map((name) => [name, shownText(this.record[name])]));
    this.form = { ...this.start };
    Object.assign(this, { mode: "edit", problem: null, base: this.record });
    this.app.update();
  }

  close() {
    this.mode = "";
    this.app.update();
    if (this.stale) this.app.page?.reload?.();
    this.stale = false;
  }

  // -- what is sent

  /** The fields of the form, each with its content. */
  get fields() {
    const schema = this.mode === "create" ? this.entity.write : this.entity.patch;
    const fixed = new Set([...this.entity.claims, ...(this.mode === "create" ? [] : [...this.entity.immutable, ...this.entity.identity])]);
    return Object.entries(schema.properties)
      .filter(([name]) => !fixed.has(name))
      .map(([name, each]) => ({
        name,
        description: each.description ?? "",
        required: (schema.required ?? []).includes(name),
        content: contentOf(each, this.entity.definitions),
      }))
      .filter((each) => !each.content.readOnly && each.name !== "key");
  }

  /** What the form changes. Throws a list of what can't be read. */
  changes() {
    const found = {};
    const errors = [];
    for (const { name, content, required } of this.fields) {
      const text = this.form[name] ?? "";
      if (text === (this.start[name] ?? "")) continue;
      try {
        if (text !== "") found[name] = valueOf(content, text);
        else if (this.mode !== "create") found[name] = required || !content.empties ? "" : null;
      } catch (error) {
        errors.push({ where: name, detail: error.message });
      }
    }
    if (errors.length) throw Object.assign(new Error("Some values can't be read."), { title: "Not sent", errors });
    return found;
  }

  async save(event) {
    event.preventDefault();
    await this.tried(async () => {
      const body = this.changes();
      if (this.mode === "create") {
        await ask("POST", `/v1/${this.entity.collection}`, { body, headers: this.once });
        this.done();
      } else if (Object.keys(body).length) {
        await this.patch(body);
      } else {
        this.mode = "show";
      }
    });
  }

  async patch(body) {
    try {
      const headers = { ...(this.etag && { "if-match": this.etag }), ...once() };
      await ask("PATCH", this.path, { body, headers });
      this.done();
    } catch (problem) {
      if (problem.status !== 412) throw problem;
      const { document, etag } = await ask("GET", this.path);
      Object.assign(this, { mode: "conflict", mine: body, theirs: document, etag, problem: null });
    }
  }

  async remove() {
    await this.tried(async () => {
      try {
        await ask("DELETE", this.path, { headers: { ...(this.etag && { "if-match": this.etag }), ...once() } });
        this.done();
      } catch (problem) {
        if (problem.status !== 412) throw problem;
        this.mode = "show";
        this.stale = true;
        const { document, etag } = await ask("GET", this.path);
        Object.assign(this, { record: document, etag });
        throw problem;
      }
    });
  }

  done() {
    this.stale = true;
    this.close();
  }

  async tried(work) {
    this.busy = true;
    this.problem = null;
    this.app.update();
    try {
      await work();
    } catch (problem) {
      this.problem = problem;
      this.stale ||= problem.status === 404; // The grid still shows what is not there.
    }
    this.busy = false;
    this.app.update();
  }

  // -- what is shown

  render() {
    return html`<dialog id="record" aria-labelledby="record-title" @close=${() => this.mode && this.close()}>
      ${this.mode ? this.content() : nothing}
    </dialog>`;
  }

  /** The browser keeps the focus in a dialog that it opened, and gives it back. */
  shown() {
    const dialog = document.getElementById("record");
    if (this.mode && !dialog.open) dialog.showModal();
    if (!this.mode && dialog.open) dialog.close();
  }

  content() {
    if (this.mode === "create") return this.editor(`New ${this.entity.name}`, "Create");
    if (this.mode === "edit") return this.editor(`Edit ${this.entity.name}`, "Save");
    return { show: () => this.show(), confirm: () => this.confirm(), conflict: () => this.conflict() }[this.mode]();
  }

  header(title) {
    return html`<header>
        <h2 id="record-title">${title}</h2>
        <button type="button" aria-label="Close" @click=${() => this.close()}>×</button>
      </header>
      ${problemNote(this.problem)} ${this.problem?.status === 401 ? tokenForm((text) => this.goOn(text)) : nothing}`;
  }

  /** Use another token for what is in the dialog. The page behind it follows when the dialog is closed. */
  goOn(text) {
    useToken(text);
    this.problem = null;
    this.stale = true;
    if (this.mode === "show" && !this.record) this.read();
    else this.app.update();
  }

  /** A value, whole. */
  cell(name, record) {
    return shown(record[name], this.entity.properties.find((each) => each.name === name)?.time, Infinity);
  }

  show() {
    const { entity, record } = this;
    return html`${this.header(entity.name)}
      ${record
        ? html`<dl class="record">
            ${Object.entries(record).map(
              ([name, value]) =>
                html`<dt>${name}</dt>
                  <dd>${typeof value === "object" ? html`<pre>${JSON.stringify(value, null, 1)}</pre>` : this.cell(name, record)}</dd>`,
            )}
          </dl>`
        : nothing}
      <p class="note">${this.etag && record ? `Revision ${this.etag}` : ""}</p>
      <footer>
        ${record && entity.operations.includes("delete")
          ? html`<button type="button" class="bad" @click=${() => this.go("confirm")}>Delete …</button>`
          : nothing}
        ${record && entity.operations.includes("update")
          ? html`<button type="button" class="main" id="edit" @click=${() => this.edit()}>Edit</button>`
          : nothing}
      </footer>`;
  }

  go(mode) {
    Object.assign(this, { mode, problem: null });
    this.app.update();
  }

  confirm() {
    return html`${this.header(`Delete this ${this.entity.name}?`)}
      <p>It is deleted only if it is still as it was shown.</p>
      <footer>
        <button type="button" @click=${() => this.go("show")}>Keep it</button>
        <button type="button" class="main bad" id="delete" ?disabled=${this.busy} @click=${() => this.remove()}>Delete</button>
      </footer>`;
  }

  editor(title, verb) {
    const faults = new Map((this.problem?.errors ?? []).map((each) => [each.where, each.detail]));
    return html`${this.header(title)}
      <form class="fields" @submit=${(event) => this.save(event)}>
        ${this.fields.map((field) => this.field(field, faults.get(field.name)))}
        <footer>
          <button type="button" @click=${() => this.close()}>Cancel</button>
          <button type="submit" class="main" ?disabled=${this.busy}>${verb}</button>
        </footer>
      </form>`;
  }

  field({ name, content, description, required }, fault) {
    const id = `field-${name}`;
    const says = [description, fault].some(Boolean) ? `${id}-says` : undefined;
    return html`<div class="field">
      <label for=${id}>${name}${required ? html`<span aria-hidden="true"> *</span>` : nothing}</label>
      ${control({
        id,
        content,
        required: required && this.mode === "create",
        text: this.form[name] ?? "",
        describedBy: says,
        lines: /[\r\n]/.test(this.start[name] ?? ""),
        changed: (text) => {
          this.form[name] = text;
        },
      })}
      ${says ? html`<span id=${says} class="note">${description} ${fault ? html`<strong class="bad">${fault}</strong>` : nothing}</span>` : nothing}
    </div>`;
  }

  conflict() {
    const names = Object.keys({ ...this.base, ...this.theirs, ...this.mine }).filter(
      (name) =>
        name in this.mine || shownText(this.base[name]) !== shownText(this.theirs[name]),
    );
    return html`${this.header("It has changed meanwhile")}
      <p>Somebody else has written this record since it was shown. Nothing of yours was stored.</p>
      <div class="scroll">
        <table id="conflict">
          <thead>
            <tr>
              <th scope="col">Property</th>
              <th scope="col">It was</th>
              <th scope="col">Yours</th>
              <th scope="col">Stored now</th>
            </tr>
          </thead>
          <tbody>
            ${names.map(
              (name) => html`<tr>
                <th scope="row">${name}</th>
                <td>${this.cell(name, this.base)}</td>
                <td>${name in this.mine ? html`<ins>${this.cell(name, this.mine)}</ins>` : nothing}</td>
                <td>${this.cell(name, this.theirs)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <footer>
        <button type="button" id="take-theirs" @click=${() => this.done()}>Keep what is stored</button>
        <button type="button" class="main" id="keep-mine" ?disabled=${this.busy}
          @click=${() => this.tried(() => this.overwrite())}>Store mine</button>
      </footer>`;
  }

  async overwrite() {
    this.base = this.theirs;
    await this.patch(this.mine);
  }
}
