import { Client, Problem } from "./client.js";

const client = new Client({ baseUrl: "http://127.0.0.1" });
const projectId = "7a21ecfb-1e7b-5ee3-b6e7-7d3e888e372f";

client.issues.byGridTitle({ title: "a" }); // wrong: the index needs the project
client.issues.byGridTitle({ projectId, num: { from: 1 } }); // wrong: the title comes before the number
client.issues.byGridTitle({ projectId, title: { prefix: "a" }, num: 1 }); // wrong: nothing follows a prefix
client.issues.byGridTitle({ projectId, reporter: "ann" }); // wrong: the index has no reporter
client.issues.byGridNum({ projectId, num: { prefix: "1" } }); // wrong: a number has no prefix
client.issues.byGridState({ projectId, state: "shut" }); // wrong: there is no such state
client.issues.byGridNum({ projectId }, { limit: "5" }); // wrong: a limit is a number
client.issues.byGridOwner({ projectId }); // wrong: there is no such index
void client.issues.create({ projectId }); // wrong: an issue has a title
void client.issues.create({ projectId, title: "a", titel: "b" }); // wrong: there is no such property
void client.issues.update({ tenantId: "t", issueId: "i" }, { title: "a" }); // wrong: the id alone names an issue
void client.issues.get("i").then((found) => found.record); // wrong: it may not be there
void client.merges.create({ sourceId: "a" }); // wrong: merges are not written by hand
void client.setCustomValues({ issueId: "i" }); // wrong: the values are missing
client.issueGrid({ sort: "num" }); // wrong: the project is missing
export const code = (problem: Problem): boolean => problem.code === "no_such_code"; // wrong: there is no such code
for await (const issue of client.issues.byGridNum({ projectId })) {
  issue.title = "b"; // wrong: what was read is not written like this
}
