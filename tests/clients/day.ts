import { Client, Problem } from "./client.js";
import type { Issue } from "./client.js";

declare const process: { readonly argv: ReadonlyArray<string> };

const [baseUrl = "", token = "", projectId = ""] = process.argv.slice(2);
const client = new Client({ baseUrl, headers: () => ({ authorization: `Bearer ${token}` }) });
const said: Record<string, unknown> = {};

// The morning: what there is in the project, page by page.
const pages: number[] = [];
for await (const page of client.issues.byGridNum({ projectId }, { limit: 2 }).pages()) {
  pages.push(page.items.length);
}
said["pages"] = pages;

// An issue comes in, and is sent twice by a client that lost the answer.
const body = { projectId, title: "Rust below deck", state: "open", priority: "high" } as const;
const made = await client.issues.create(body, { idempotencyKey: "day-1" });
const again = await client.issues.create(body, { idempotencyKey: "day-1" });
said["once"] = made.record.issueId === again.record.issueId && made.rev === again.rev;

// Somebody takes it; somebody else has the old one at hand, and is told.
const key = made.record.issueId;
const taken = await client.issues.update(key, { assignee: "ann" }, made.rev === null ? {} : { rev: made.rev });
try {
  await client.issues.update(key, { assignee: "bob" }, made.rev === null ? {} : { rev: made.rev });
} catch (error) {
  if (!(error instanceof Problem)) {
    throw error;
  }
  said["conflict"] = [error.code, error.status];
}
said["assignee"] = taken.record.assignee;

// A field of the project's own, and its value.
const project = await client.declareCustomField({ projectId, name: "pressure", kind: "number" });
said["fields"] = project.customFields;
const valued = await client.setCustomValues({ issueId: made.record.issueId, values: { pressure: "2.5" } });
said["custom"] = valued.custom;

// What is open, by title; the grid, by the field.
const titles: string[] = [];
for await (const issue of client.issues.byGridTitle({ projectId, title: { prefix: "R" } })) {
  titles.push(issue.title);
}
said["titles"] = titles;
const grid = await client.issueGrid({ projectId, sort: "pressure", limit: 2 }).page();
said["grid"] = grid.items.map((each) => each.title);

// The evening: it is done, and gone.
const closed: Issue = (await client.issues.update(key, { state: "closed" })).record;
said["state"] = closed.state;
await client.issues.delete(key);
said["gone"] = await client.issues.get(key);
try {
  await client.issues.create({ projectId, title: "" });
} catch (error) {
  said["faults"] = error instanceof Problem ? error.errors.map((each) => each.where) : error;
}
console.log(JSON.stringify(said));
