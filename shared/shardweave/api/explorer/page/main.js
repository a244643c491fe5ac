/** The Explorer: what the service has, beside the page that the address names after `#`.
 *
 *     #/view/NAME   #/entity/TOKEN   #/shards/TOKEN   #/doctor
 */

import { html, nothing, render } from "./lit-html/lit-html.js";
import { ask, takeToken, useToken } from "./api.js";
import { DoctorPage } from "./doctor_page.js";
import { EntityPage } from "./entity_page.js";
import { problemNote } from "./grid.js";
import { RecordDialog } from "./record.js";
import { ShardsPage } from "./shards_page.js";
import { tokenForm } from "./token.js";
import { ViewPage } from "./view_page.js";

class App {
  constructor(root) {
    this.root = root;
    this.service = null;
    this.problem = null;
    this.notice = null;
    this.page = null;
    this.entered = null; // The page that shows what there was when it was opened.
    this.choices = new Map();
    this.record = new RecordDialog(this);
  }

  async start() {
    takeToken();
    addEventListener("hashchange", () => (takeToken() ? this.load() : this.navigate()));
    this.update();
    await this.load();
  }

  async load() {
    Object.assign(this, { problem: null, entered: null });
    const choices = (this.choices = new Map()); // Another caller's choices that come late go into the map before.
    const told = { service: null };
    try {
      told.service = (await ask("GET", "/v1/_explorer")).document;
    } catch (problem) {
      told.problem = problem;
    }
    if (choices !== this.choices) return; // Another token is in use.
    Object.assign(this, told);
    if (told.problem) {
      this.page?.leave?.();
      this.page = null;
    }
    if (this.service) await this.navigate();
    this.update();
  }

  /** The page that the address names, or the first that there is: a list of the service's own, else an entity. */
  async navigate() {
    if (!this.service) return;
    const { entities, views } = this.service;
    const [, kind, name] = location.hash.slice(1).split("/").map(decoded);
    const entity = entities.find((each) => each.token === name);
    this.page?.leave?.();
    this.notice = null;
    if (kind === "shards" && entity) this.page = new ShardsPage(this, entity);
    else if (kind === "doctor") this.page = new DoctorPage(this);
    else if (kind === "entity" && entity) this.page = new EntityPage(this, entity);
    else {
      const view = views.find((each) => kind === "view" && each.name === name) ?? (kind ? undefined : views[0]);
      this.page = view ? new ViewPage(this, view) : new EntityPage(this, entities[0]);
    }
    document.title = `${this.page.caption} – ${this.service.service}`;
    this.update();
    const { page } = this;
    await page.enter();
    if (page === this.page) this.entered = page;
    this.update();
  }

  /** Say what came when its own place was no longer there, above the page, until another page is opened. */
  tell(problem) {
    this.notice = problem;
    this.update();
  }

  /** Show what is new, once for all that changes in one go. */
  update() {
    if (this.waiting) return;
    this.waiting = true;
    queueMicrotask(() => {
      this.waiting = false;
      render(this.render(), this.root);
      this.record.shown();
    });
  }

  render() {
    return html`<a class="skip" href="#main" @click=${(event) => this.skip(event)}>Skip to the page</a>
      <header class="top">
        <strong>${this.service?.service ?? "Explorer"}</strong>
        <span class="note">Explorer ${this.service?.version ?? ""}</span>
        ${this.tokenForm()}
      </header>
      <div class="body">
        ${this.service ? this.navigation() : nothing}
        <main id="main" tabindex="-1" aria-busy=${this.isComing}>${this.main()}</main>
      </div>
      ${this.record.render()}`;
  }

  /** Whether what the page shows first has not come yet. */
  get isComing() {
    return !this.problem && (!this.page || this.entered !== this.page);
  }

  main() {
    if (this.problem) {
      return html`${problemNote(this.problem)}
        ${[401, 403, 404].includes(this.problem.status)
          ? html`<p>The Explorer is for operators. Give the token of one, at the top of this page.</p>`
          : nothing}`;
    }
    return this.page ? html`${problemNote(this.notice)} ${this.page.render()}` : html`<p class="note">Loading …</p>`;
  }

  navigation() {
    const link = (address, text) =>
      html`<li><a href=${`#/${address}`} aria-current=${this.isAt(address) ? "page" : nothing}>${text}</a></li>`;
    const { entities, views } = this.service;
    return html`<nav aria-label="Parts of the service">
      ${views.length ? html`<h2>Lists</h2><ul>${views.map((each) => link(`view/${each.name}`, each.summary))}</ul>` : nothing}
      <h2>Records</h2>
      <ul>${entities.map((each) => link(`entity/${each.token}`, each.name))}</ul>
      <h2>Shards</h2>
      <ul>${entities.map((each) => link(`shards/${each.token}`, each.name))}</ul>
      <h2>Health</h2>
      <ul>${link("doctor", "The doctor's report")}</ul>
    </nav>`;
  }

  isAt(address) {
    const { page } = this;
    const here =
      page instanceof ViewPage ? `view/${page.view.name}`
      : page instanceof ShardsPage ? `shards/${page.entity.token}`
      : page instanceof DoctorPage ? "doctor"
      : `entity/${page?.entity.token}`;
    return here === address;
  }

  tokenForm() {
    const changed = (text) => {
      useToken(text);
      this.load();
    };
    return tokenForm(changed);
  }

  skip(event) {
    event.preventDefault();
    document.getElementById("main").focus();
  }
}

/** A part of an address; one that is cut in the middle of a character names nothing. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

new App(document.getElementById("page")).start();
