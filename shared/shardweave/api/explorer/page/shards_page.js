/** How full and how busy an entity's shards are, and a re-shard: estimated, started, watched, taken back. */

import { html, nothing, svg } from "./lit-html/lit-html.js";
import { ask } from "./api.js";
import { firstClicks } from "./clicks.js";
import { bar } from "./explain.js";
import { problemNote } from "./grid.js";

const PHASES = [
  ["stable", "Stable", "readers and writers use the shards in force"],
  ["dual_old", "Copying", "writes go to both spaces, reads to the old one; records are copied and compared"],
  ["dual_new", "Trying", "reads go to the new space, writes to both; it can still be taken back"],
  ["new_only", "Switching", "reads and writes use the new space"],
  ["purge", "Emptying", "the old space is emptied"],
];
const POLL_MS = 1000;
const UNIT_BYTES = 8192; // what half a consistent read unit reads twice: an eventually consistent unit
const MOST_ROWS = 256;

export class ShardsPage {
  constructor(app, entity) {
    Object.assign(this, { app, entity, caption: `Shards of ${entity.name}`, status: null, loads: null, problem: null });
    Object.assign(this, { counted: null, estimate: null, rates: new Map(), charBits: "2", chars: "2", rate: "0" });
    this.commands = 0; // How many have been answered.
    this.busy = false; // Whether one has not.
  }

  get path() {
    return `/v1/_reshard/${this.entity.token}`;
  }

  async enter() {
    await this.poll();
  }

  leave() {
    clearTimeout(this.timer);
    this.left = true;
  }

  async poll() {
    clearTimeout(this.timer);
    const { commands } = this;
    try {
      const [status, loads] = await Promise.all([
        ask("GET", this.path),
        ask("GET", `/v1/_shards/${this.entity.token}`),
      ]);
      if (commands === this.commands) this.status = status.document; // Else a command's answer is newer.
      this.observe(loads.document);
      this.pollProblem = null;
    } catch (problem) {
      this.pollProblem = problem;
    }
    if (this.left) return;
    this.app.update();
    this.timer = setTimeout(() => this.poll(), POLL_MS);
  }

  /** Writes a second are what two looks differ by. */
  observe(loads) {
    const before = new Map(this.loads?.shards.map((each) => [each.shard, each.writes]));
    const seconds = this.loads ? (loads.at - this.loads.at) / 1000 : 0;
    if (seconds > 0) {
      this.rates = new Map(
        loads.shards.map(({ shard, writes }) => [shard, Math.max(0, writes - (before.get(shard) ?? writes)) / seconds]),
      );
    }
    if (this.counted && shardsOf(loads) !== shardsOf(this.loads)) this.counted = null; // It was of others.
    this.loads = loads;
  }

  async command(verb, body) {
    if (this.busy) return;
    Object.assign(this, { busy: true, problem: null });
    this.app.update();
    try {
      const answer = await ask("POST", this.path + verb, body === undefined ? {} : { body });
      Object.assign(this, { status: answer.document, estimate: null });
    } catch (problem) {
      this.problem = problem;
    }
    this.busy = false;
    this.commands += 1;
    this.app.update();
  }

  /** What the re-shard of the form would take; nothing stops the reader from starting it before that is told. */
  async foresee() {
    const { target, commands } = this;
    const isWanted = () => same(target, this.target) && commands === this.commands && !this.busy;
    this.problem = null;
    try {
      const { document } = await ask("POST", `${this.path}/estimate`, { body: target });
      if (isWanted()) this.estimate = document;
    } catch (problem) {
      if (isWanted()) this.problem = problem;
    }
    this.app.update();
  }

  get target() {
    return { charBits: Number(this.charBits), chars: Number(this.chars), rate: Number(this.rate) };
  }

  /** Count the records that the reader may see, shard by shard: it reads them all. */
  async count() {
    this.problem = null;
    this.counting = true;
    this.app.update();
    const shards = shardsOf(this.loads);
    try {
      const { document } = await ask("POST", `/v1/${this.entity.collection}/count`, { body: { stats: true } });
      const counted = new Map();
      for (const { lane, scanned, units } of document.stats.reports) {
        const shard = lane.slice(lane.lastIndexOf("!") + 1);
        const there = counted.get(shard) ?? { items: 0, bytes: 0 };
        counted.set(shard, { items: there.items + scanned, bytes: there.bytes + units * UNIT_BYTES });
      }
      if (shards === shardsOf(this.loads)) this.counted = counted;
    } catch (problem) {
      this.problem = problem;
    }
    this.counting = false;
    this.app.update();
  }

  // -- what is shown

  render() {
    return html`<h1>${this.caption}</h1>
      ${problemNote(this.problem ?? this.pollProblem)} ${this.status ? this.progress(this.status) : nothing}
      ${this.status && !this.status.moving ? this.starting() : nothing} ${this.loads ? this.fill() : nothing}`;
  }

  progress(status) {
    const now = PHASES.findIndex(([phase]) => phase === status.phase);
    const can = (verb, label, kind) =>
      html`<button type="button" id=${verb} class=${kind} ?disabled=${this.busy}
        @click=${() => this.command(`/${verb}`)}>${label}</button>`;
    return html`<section aria-labelledby="reshard" @click=${firstClicks}>
      <h2 id="reshard">Re-shard</h2>
      <ol class="phases">
        ${PHASES.map(
          ([, name, text], place) => html`<li class=${place < now ? "past" : ""}
            aria-current=${place === now ? "step" : nothing} title=${text}>${name}</li>`,
        )}
      </ol>
      <p id="state" role="status">
        <strong>${status.aborting ? "Taking back" : PHASES[now]?.[1]}</strong>: ${status.step}, ${status.shards} shards
        are read${status.moving ? html`; from ${status.shardsFrom} to ${status.shardsTo} shards` : nothing}
      </p>
      ${status.moving
        ? html`<p>
              <progress aria-label="Work of this step" max=${Math.max(1, status.items)} .value=${status.itemsDone}></progress>
              ${status.itemsDone} of ${status.items} parts · ${status.seen} records met · ${status.written} written
            </p>
            <p class="buttons">${can("abort", "Take it back", "bad")} ${status.attention ? can("resume", "Go on", "main") : nothing}</p>`
        : nothing}
      ${["attention", "waiting", "proposal", "advice"].map((name) =>
        status[name] ? html`<p class="problem"><strong>${name}</strong> <span>${status[name]}</span></p>` : nothing,
      )}
    </section>`;
  }

  starting() {
    const number = (name, label, low, high) => html`<label>${label}
      <input type="number" id=${name} min=${low} max=${high} required .value=${this[name]}
        @input=${(event) => this.set(name, event.target.value)} /></label>`;
    const { charBits, chars } = this.target;
    return html`<form class="tools" @submit=${(event) => this.submit(event)}>
        ${number("charBits", "Bits a character", 1, 5)} ${number("chars", "Characters", 0, 16)}
        ${number("rate", "Records a second (0: any)", 0, 100000)}
        <output id="shards-to">${2 ** (charBits * chars)} shards</output>
        <span class="buttons">
          <button type="button" id="estimate" @click=${() => this.foresee()}>Estimate</button>
          <button type="submit" class="main" id="start" ?disabled=${this.busy}>Start</button>
        </span>
      </form>
      ${this.estimate ? estimated(this.estimate) : nothing}`;
  }

  set(name, value) {
    this[name] = value;
    this.estimate = null; // It was for other numbers.
    this.app.update();
  }

  submit(event) {
    event.preventDefault();
    if (event.target.reportValidity()) this.command("", this.target);
  }

  fill() {
    const rows = this.loads.shards.map((each) => ({
      ...each,
      ...(this.counted?.get(each.shard) ?? (this.counted ? { items: 0, bytes: 0 } : {})),
      rate: this.rates.get(each.shard) ?? 0,
    }));
    const most = (name) => Math.max(0, ...rows.map((each) => each[name]));
    const [items, bytes, rate] = ["items", "bytes", "rate"].map(most);
    return html`<section aria-labelledby="fill">
      <h2 id="fill">How full they are</h2>
      <p class="note">
        ${this.counted
          ? "Records and bytes as counted just now, of the records that you may see."
          : "Records and bytes by the changes since counting began; a re-shard's copies are not among them."}
        <button type="button" id="count" ?disabled=${this.counting} @click=${() => this.count()}>Count all records</button>
      </p>
      ${picture(rows, items)}
      <div class="scroll" tabindex="0" role="region" aria-label="Shards">
        <table id="shards">
          <thead>
            <tr>
              <th scope="col">Shard</th>
              <th scope="col">Records</th>
              <th scope="col">Bytes</th>
              <th scope="col">Writes a second</th>
              <th scope="col">Throttled</th>
            </tr>
          </thead>
          <tbody>
            ${rows.slice(0, MOST_ROWS).map(
              (each) => html`<tr>
                <th scope="row">${this.entity.token}!${each.shard}</th>
                <td>${bar(each.items, items, each.items.toLocaleString("en"))}</td>
                <td>${bar(each.bytes, bytes, size(each.bytes))}</td>
                <td>${bar(each.rate, rate, each.rate.toFixed(1))}</td>
                <td>${each.throttled}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </section>`;
  }
}

/** All shards as columns side by side, as high as they have records. */
function picture(rows, most) {
  const width = 100 / rows.length;
  const height = (each) => (most ? (38 * each.items) / most : 0);
  return html`<svg class="picture" viewBox="0 0 100 40" preserveAspectRatio="none" role="img"
    aria-label="Records of ${rows.length} shards, at most ${most} in one">
    ${rows.map((each, place) => columnOf(place * width, width, height(each)))}
  </svg>`;
}

function columnOf(x, width, height) {
  return svg`<rect x=${x + width * 0.1} y=${40 - height} width=${width * 0.8} height=${height}></rect>`;
}

const shardsOf = (loads) => loads.shards.map((each) => `${each.generation}!${each.shard}`).join();

const same = (one, other) => Object.keys(one).every((name) => one[name] === other[name]);

function size(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let place = 0;
  while (bytes >= 1000 && place < units.length - 1) {
    bytes /= 1000;
    place += 1;
  }
  return `${place && bytes < 10 ? bytes.toFixed(1) : Math.round(bytes)} ${units[place]}`;
}

function estimated(estimate) {
  return html`<dl class="estimate">
    ${Object.entries(estimate).map(
      ([name, value]) => html`<dt>${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}</dt>
        <dd>${value.toLocaleString("en")}</dd>`,
    )}
  </dl>`;
}
