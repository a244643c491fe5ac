/** How a page was read, and why: its lanes with what each cost, as bars. */

import { html, nothing } from "./lit-html/lit-html.js";
import { problemNote } from "./grid.js";

const MOST_LANES = 128;

/** A bar for a value, as wide as its part of the most. The number stands beside it. */
export function bar(value, most, text = value) {
  const width = most > 0 ? Math.max(0, Math.min(100, (100 * value) / most)) : 0;
  return html`<span class="bar"><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"
    ><rect width=${width} height="8"></rect></svg> ${text}</span>`;
}

/** The panel below a grid: why the page that is shown was read as it was, while it is open. `shown` makes something of
 * the plan. */
export function explainPanel(pages, shown = planned, caption = "Explain this page") {
  const { plan, problem } = pages.explanation ?? {};
  return html`<details class="panel" id="explain" ?open=${pages.explains}
    @toggle=${(event) => pages.toggle(event.target.open)}>
    <summary>${caption}</summary>
    ${problemNote(problem)} ${plan ? shown(plan, pages.answer.document.stats) : nothing}
  </details>`;
}

function planned(plan, stats) {
  const reports = new Map((stats?.reports ?? []).map((each) => [each.lane, each]));
  const most = (name) => Math.max(0, ...[...reports.values()].map((each) => each[name]));
  const top = { scanned: most("scanned"), units: most("units"), milliseconds: most("milliseconds") };
  const lanes = plan.lanes.slice(0, MOST_LANES);
  return html`<p>
      ${plan.entity} by ${plan.indexes.map((each) => each ?? "the table").join(", ")}, ${plan.order}, ${plan.limit} a
      page. ${plan.reasons.join("; ")}.
    </p>
    <p class="note">
      ${stats
        ? `${count(stats.requests, "read")} in ${count(stats.rounds, "round")}, ${stats.scanned} records read, ${stats.returned} given, ${stats.units} units, ${stats.milliseconds.toFixed(1)} ms in the table's lanes.`
        : `About ${plan.estimatedReads} reads, ${plan.estimatedUnits} units${plan.estimateIsLeast ? " at least" : ""}.`}
      ${plan.filterByTable.length || plan.filterHere.length
        ? `Filters: ${plan.filterByTable.length} by the table, ${plan.filterHere.length} after reading.`
        : nothing}
    </p>
    <div class="scroll" tabindex="0" role="region" aria-label="Lanes">
      <table class="lanes">
        <thead>
          <tr>
            <th scope="col">Lane</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">Reads</th>
            <th scope="col">Records</th>
            <th scope="col">Units</th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          ${lanes.map((lane) => laneRow(lane, reports.get(lane.lane), top))}
        </tbody>
      </table>
    </div>
    ${plan.lanes.length > lanes.length ? html`<p class="note">${plan.lanes.length - lanes.length} more lanes.</p>` : nothing}`;
}

const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

/** A lane's name without the values in its hash key, which its title has. */
const shortly = (lane) => lane.replace(/(\S+!\S*) ?\|.*$/s, "$1");

function laneRow(lane, report, top) {
  return html`<tr class=${lane.empty ? "idle" : ""}>
    <th scope="row" title=${lane.hashKey}>
      ${shortly(lane.lane)} <span class="note">${lane.generation}${lane.resumes ? ", resumes" : ""}</span>
    </th>
    <td class="key">${lane.low ?? ""}</td>
    <td class="key">${lane.high ?? ""}</td>
    <td>${report?.requests ?? (lane.empty ? 0 : "")}</td>
    <td>${report ? bar(report.scanned, top.scanned) : `first ${lane.firstFetch}`}</td>
    <td>${report ? bar(report.units, top.units) : ""}</td>
    <td>
      ${report ? bar(report.milliseconds, top.milliseconds, `${report.milliseconds.toFixed(1)} ms`) : ""}
      ${report?.failure ? html`<strong class="bad">${report.failure}</strong>` : nothing}
    </td>
  </tr>`;
}
