import { Client } from "./client.js";
import type { Client_, ClientKey_, Page_ } from "./client.js";

const client = new Client({ baseUrl: "http://127.0.0.1" });
const clientId = "c";

export const shown = (one: Client_, two: ClientKey_, three: Page_): string => one.list + two.clientKeyId + three.title;
void client.answers.get({ pageId: "p", record: "yes", answerNo: 3 });
client.pages.byFilter({ clientId, filter: { from: 3 } }, { filter: { state: "open", filter: 5 } });
client.pages.byFilter2({ filter: 3, num: { to: 5 } });
client.pages.byState({ state: "done", title: { prefix: "a" } });
client.pages.byMade({ made: { from: "2025-01-01" } });
client.pages.byMade({ made: "2025-01-01", title: { prefix: "a" } });
client.clients.byCountry({ "address.country.code": "NO", "address.city": { prefix: "O" } });
void client.clients.create({ address: { country: { code: "NO" } } }).then((made) => made.record.address.city);

void client.answers.get({ pageId: "p", record: "yes" }); // wrong: the number is a part of the key
void client.answers.get({ pageId: "p", record: "yes", answerNo: "3" }); // wrong: the number is a number
void client.answers.get({ pageId: "p", record: "maybe", answerNo: 3 }); // wrong: there is no such record
client.pages.byMade({ made: { prefix: "2025" } }); // wrong: a descending property has no prefix
client.pages.byState({ state: "shut" }); // wrong: there is no such state
client.pages.byFilter({ clientId }, { filter: { state: "shut" } }); // wrong: nor here
client.pages.byFilter({ clientId }, { filter: { eq: 5 } }); // wrong: there is no such property
client.clients.byCountry({ "address.city": "Oslo" }); // wrong: the index needs the country
void client.clients.get("c").then((found) => found?.record.secret); // wrong: it is never shown
void client.pages.byState({}).page().then((page) => client.pages.byState({}).before(page.prevToken)); // wrong: it may be none
void client.problems; // wrong: there is no such entity
