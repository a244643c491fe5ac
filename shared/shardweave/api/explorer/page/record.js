/** One record in a dialog: open, edit, create, delete. A change is sent with the revision that was shown (If-Match);
 * where the record has changed since, both versions are shown, and the reader decides. */

import { html, nothing } from "./lit-html/lit-html.js";
import { ask, once, recordPath, shownText, useToken } from "./api.js";
import { firstClicks } from "./clicks.js";
import { problemNote } from "./grid.js";
import { contentOf, control, shown, valueOf } from "./schema.js";
import { tokenForm } from "./token.js";

export class RecordDialog {
  constructor(app) {
    this.app = app;
    this.mode = "";
    this.opening = null; // What the dialog is open for: another object each time that it is opened or closed.
  }

  async open(entity, record) {
    Object.assign(this, { entity, path: recordPath(entity, record), mode: "show" });
    Object.assign(this, { problem: null, record: null, opening: {} });
    this.app.update();
    await this.read();
  }

  async read() {
    await this.tried(async (put) => {
      const { document, etag } = await ask("GET", this.path);
      put({ record: document, etag });
    });
  }

  create(entity) {
    Object.assign(this, { entity, mode: "create", record: null, problem: null, opening: {} });
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
    Object.assign(this, { mode: "", opening: null, busy: false });
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
    await this.written(async (put) => {
      const body = this.changes();
      if (this.mode === "create") await ask("POST", `/v1/${this.entity.collection}`, { body, headers: this.once });
      else if (Object.keys(body).length) return this.patch(put, body);
      else return put({ mode: "show" }) && false;
      return true;
    });
  }

  async patch(put, body) {
    const { path, etag: shown } = this;
    try {
      await ask("PATCH", path, { body, headers: this.headers("PATCH", path, shown, body) });
      return true;
    } catch (problem) {
      if (problem.status !== 412) throw problem;
      const { document, etag } = await ask("GET", path);
      if (!put({ mode: "conflict", mine: body, theirs: document, etag, problem: null })) throw problem;
      return false;
    }
  }

  /** The condition of a write, and its name: the same one when the same is sent again, since the answer was lost. */
  headers(method, path, revision, body) {
    const what = JSON.stringify([method, path, revision, body]);
    if (this.sent?.what !== what) this.sent = { what, name: once() };
    return { ...(revision && { "if-match": revision }), ...this.sent.name };
  }

  async remove() {
    await this.written(async (put) => {
      const { path, etag: shown } = this;
      try {
        await ask("DELETE", path, { headers: this.headers("DELETE", path, shown) });
        return true;
      } catch (problem) {
        if (problem.status !== 412) throw problem;
        put({ mode: "show", stale: true, record: null });
        const { document, etag } = await ask("GET", path);
        put({ record: document, etag });
        throw problem;
      }
    });
  }

  done() {
    this.stale = true;
    this.close();
  }

  /** Write by `work`, which returns whether it has. The dialog is closed then. Where it was closed before, the page
   * behind it shows what was written, or why it was not. */
  async written(work) {
    if (this.busy) return; // It is on its way.
    const { entity, path, mode } = this;
    const late = await this.tried(async (put) => {
      if (!(await work(put))) return;
      if (put({})) this.done();
      else this.app.page?.reload?.();
    });
    const where = mode === "create" ? entity.name : path;
    if (late) this.app.tell({ title: late.title, where, message: late.message, fix: late.fix });
  }

  /** Do `work` for what the dialog is open for. `put` sets members of the dialog and says that it has, unless it was
   * closed, or opened for another record, meanwhile: nothing that comes late stands beside another record's path.
   * Returns the problem that came too late. */
  async tried(work) {
    const { opening } = this;
    const put = (members) => opening === this.opening && Object.assign(this, members);
    put({ busy: true, problem: null });
    this.app.update();
    let late = null;
    try {
      await work(put);
    } catch (problem) {
      // The grid may show what is not there, or lack what is: what was not answered may have been carried out.
      if (!put({ problem, stale: this.stale || [0, 404].includes(problem.status) })) late = problem;
    }
    put({ busy: false });
    this.app.update();
    return late;
  }

  // -- what is shown

  render() {
    return html`<dialog id="record" aria-labelledby="record-title" @click=${firstClicks}
      @close=${() => this.mode && this.close()}>
      ${this.mode ? this.content() : nothing}
    </dialog>`;
  }

  /** The browser keeps the focus in a dialog that it opened, and gives it back. It begins at the title, and not at the
   * button that would close the dialog when Enter is pressed once more. */
  shown() {
    const dialog = document.getElementById("record");
    if (this.mode && !dialog.open) {
      dialog.showModal();
      document.getElementById("record-title").focus();
    }
    if (!this.mode && dialog.open) dialog.close();
  }

  content() {
    if (this.mode === "create") return this.editor(`New ${this.entity.name}`, "Create");
    if (this.mode === "edit") return this.editor(`Edit ${this.entity.name}`, "Save");
    return { show: () => this.show(), confirm: () => this.confirm(), conflict: () => this.conflict() }[this.mode]();
  }

  header(title) {
    return html`<header>
        <h2 id="record-title" tabindex="-1">${title}</h2>
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
        <button type="button" class="main bad" id="delete" ?disabled=${this.busy}
          @click=${() => this.remove()}>Delete</button>
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
        changed: (text) => this.type(name, text),
      })}
      ${says ? html`<span id=${says} class="note">${description} ${fault ? html`<strong class="bad">${fault}</strong>` : nothing}</span>` : nothing}
    </div>`;
  }

  /** What is on its way is what the form shows: it stays as it is until the answer has come. */
  type(name, text) {
    if (this.busy) this.app.update();
    else this.form[name] = text;
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
          @click=${() => this.overwrite()}>Store mine</button>
      </footer>`;
  }

  async overwrite() {
    this.base = this.theirs;
    await this.written((put) => this.patch(put, this.mine));
  }
}
