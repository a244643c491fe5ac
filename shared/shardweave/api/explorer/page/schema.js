/** From a JSON schema to a control of a form, and between its text and a value. */

import { html, nothing } from "./lit-html/lit-html.js";
import { live } from "./lit-html/directives/live.js";
import { parsed, shownText } from "./api.js";

/** What values a schema has: `kind`, the `options` of a choice, and whether there may be none (`empties`). */
export function contentOf(schema, definitions = schema.$defs ?? {}) {
  const found = resolved(schema, definitions);
  const branches = (found.anyOf ?? found.oneOf ?? [found]).map((each) => resolved(each, definitions));
  const empties = branches.some((each) => each.type === "null");
  const left = branches.filter((each) => each.type !== "null");
  const only = left.length === 1 ? (left[0].anyOf ? contentOf(left[0], definitions) : simple(left[0])) : mixed(left);
  return { ...only, empties: empties || Boolean(only.empties), readOnly: Boolean(found.readOnly) };
}

function resolved(schema, definitions) {
  let found = schema;
  while (found.$ref) found = { ...definitions[found.$ref.replace(/^.*\//, "")], ...found, $ref: undefined };
  return found;
}

function simple(schema) {
  if (schema.enum) return { kind: "choice", options: schema.enum };
  if (schema.type === "string") {
    if (schema.format === "date") return { kind: "date" };
    return { kind: schema.maxLength > 300 ? "long" : "text" };
  }
  if (["integer", "number", "boolean"].includes(schema.type)) return { kind: schema.type };
  return { kind: "json" };
}

/** A decimal is a number or a text; whatever else is mixed is written as JSON. */
function mixed(branches) {
  const types = branches.map((each) => each.type);
  return { kind: types.every((type) => type === "string" || type === "number") ? "text" : "json" };
}

/** The value that a text stands for. Throws an Error that says what it should be. */
export function valueOf(content, text) {
  if (content.kind === "integer") {
    if (!/^[+-]?\d+$/.test(text.trim())) throw new Error("must be a whole number");
    return parsed(text.trim().replace(/^\+/, "").replace(/^(-?)0+(?=\d)/, "$1"));
  }
  if (content.kind === "number") {
    if (text.trim() === "" || !Number.isFinite(Number(text))) throw new Error("must be a number");
    return Number(text);
  }
  if (content.kind === "boolean") return text === "true";
  if (content.kind === "json") {
    try {
      JSON.parse(text);
    } catch {
      throw new Error("must be JSON");
    }
    return parsed(text);
  }
  return text;
}

/** The value of a condition: of times also what ISO 8601 writes, which the API reads. */
export function conditionOf(property, content, text) {
  if (property?.time && !/^-?\d+$/.test(text)) return text;
  return valueOf(content, text);
}

/** The options of a select, of which the one with a value is chosen, whatever was chosen before. */
export function options(choices, value) {
  return choices.map((each) => html`<option value=${each.value} .selected=${live(each.value === value)}>${each.label}</option>`);
}

/** The control for a value. `choices` are further ones, as `{value, label}`; with `lines` a text keeps its lines; one that
 * is `disabled` waits for its choices. */
export function control({ id, content, text, changed, required, choices, describedBy, label, lines, disabled }) {
  const on = (event) => changed(event.target.value);
  const shared = { described: describedBy ?? nothing, name: label ?? nothing };
  const given = choices ?? chosen(content);
  if (given) {
    const known = text === "" || given.some((each) => each.value === text);
    const first = [...(required && text ? [] : [{ value: "", label: "" }]), ...(known ? [] : [{ value: text, label: text }])];
    return html`<select id=${id ?? nothing} aria-label=${shared.name} aria-describedby=${shared.described} ?required=${required}
      @change=${on}>
      ${options([...first, ...given], text)}
    </select>`;
  }
  if (content.kind === "json" || content.kind === "long" || (content.kind === "text" && lines)) {
    return html`<textarea id=${id ?? nothing} rows="3" aria-label=${shared.name} aria-describedby=${shared.described}
      ?required=${required} spellcheck="false" .value=${live(text)} @input=${on}></textarea>`;
  }
  const type = content.kind === "date" ? "date" : "text";
  const mode = ["integer", "number"].includes(content.kind) ? "numeric" : nothing;
  return html`<input id=${id ?? nothing} type=${type} inputmode=${mode} aria-label=${shared.name}
    aria-describedby=${shared.described} ?required=${required} ?disabled=${disabled} autocomplete="off" .value=${live(text)}
    @input=${on} />`;
}

function chosen(content) {
  if (content.kind === "choice") return content.options.map((each) => ({ value: String(each), label: String(each) }));
  if (content.kind === "boolean") return ["true", "false"].map((each) => ({ value: each, label: each }));
  return undefined;
}

const LONGEST_CELL = 120;

/** A value in a cell, or, with `most`, where there is more room. */
export function shown(value, time = "", most = LONGEST_CELL) {
  if (value === null || value === undefined) return nothing;
  if (time && typeof value === "number") {
    const at = new Date(time === "s" ? value * 1000 : value);
    if (!Number.isNaN(at.getTime())) {
      const iso = at.toISOString();
      return html`<time datetime=${iso} title=${value}>${iso.slice(0, 19).replace("T", " ")}</time>`;
    }
  }
  const text = shownText(value);
  if (text.length <= most) return text;
  return html`<span title=${text}>${text.slice(0, most).replace(/[\ud800-\udbff]$/, "")}…</span>`;
}
