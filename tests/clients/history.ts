import { Client } from "./client.js";

const client = new Client({ baseUrl: "http://127.0.0.1" });

export const ids: string[] = [];
const paid = { filter: { paid: true }, limit: 2, reverse: true };
for await (const each of client.customerHistory({ customer: "ann", made: { from: 1_700_000_000_002 } }, paid)) {
  ids.push(each.entity === "bill" ? each.record.billId : each.record.visitId);
}
client.bills.byTime({ customer: "ann" }, { filter: { amount: { from: 5, to: 7 } } });
client.visits.list({}, { filter: { shop: { prefix: "O" }, customer: "ann" } });

client.customerHistory({ made: { from: 1 } }); // wrong: the index needs the customer
client.customerHistory({ customer: "ann", shop: "Oslo" }); // wrong: the index has no shop
client.customerHistory({ customer: "ann" }, { filter: { shop: "Oslo" } }); // wrong: bills have no shop
client.customerHistory({ customer: "ann", made: { prefix: "1" } }); // wrong: a time has no prefix
client.bills.byTime({ customer: "ann" }, { filter: { amont: 5 } }); // wrong: there is no such property
client.bills.byTime({ customer: "ann" }, { filter: { amount: "much" } }); // wrong: an amount is a number
client.bills.byTime({ customer: "ann" }, { filter: { amount: { prefix: "5" } } }); // wrong: a number has no prefix
for await (const one of client.customerHistory({ customer: "ann" })) {
  console.log(one.record.shop); // wrong: it may be a bill
}
