/** What the doctor found the last time that it came to the end. */

import { html, nothing } from "./lit-html/lit-html.js";
import { ask } from "./api.js";
import { problemNote } from "./grid.js";

export class DoctorPage {
  constructor(app) {
    Object.assign(this, { app, caption: "The doctor's report", report: null, problem: null });
  }

  async enter() {
    try {
      this.report = (await ask("GET", "/v1/_doctor")).document;
    } catch (problem) {
      this.problem = problem;
    }
    this.app.update();
  }

  render() {
    return html`<h1>${this.caption}</h1>
      ${problemNote(this.problem)} ${this.report ? reported(this.report) : nothing}`;
  }
}

function reported(report) {
  const kinds = Object.entries(report.found);
  return html`<p id="verdict"><strong>${report.verdict}</strong></p>
    <p class="note">
      ${new Date(report.at).toISOString().slice(0, 19).replace("T", " ")} UTC · ${report.read} items read ·
      ${report.units} units · ${report.seconds.toFixed(1)} s${report.repairing ? " · repairing" : ""}
    </p>
    ${kinds.length
      ? table(
          ["Kind", "Found", "Repaired"],
          kinds.map(([kind, count]) => [kind, count, report.repaired[kind] ?? 0]),
        )
      : html`<p>No fault was found.</p>`}
    ${report.layout.length
      ? html`<h2>The table's layout</h2>
          ${table(["Where", "What", "Fix"], report.layout.map((each) => [each.where, each.what, each.fix]))}`
      : nothing}
    ${report.named.length
      ? html`<h2>Faults</h2>
          ${table(
            ["Kind", "Severity", "About", "Key", "Other"],
            report.named.map((each) => [each.kind, each.severity, each.about, each.key.join("  "), (each.other ?? []).join("  ")]),
          )}`
      : nothing}`;
}

function table(names, rows) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${names[0]}>
    <table>
      <thead>
        <tr>
          ${names.map((name) => html`<th scope="col">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((cells) => html`<tr>
          ${cells.map((cell) => html`<td>${cell}</td>`)}
        </tr>`)}
      </tbody>
    </table>
  </div>`;
}
