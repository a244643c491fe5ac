import { Client, Problem } from "./client.js";

declare const process: { readonly argv: ReadonlyArray<string> };

const [baseUrl = ""] = process.argv.slice(2);
const client = new Client({ baseUrl });
const said: Record<string, unknown> = {};

// Outlets open, in two regions.
for (const [code, number] of [["03", 2], ["03", 1], ["46", 1]] as const) {
  await client.outlets.create({ number, address: { country: "no", region: { code }, street: "Quay" } });
}
const key = { "address.country": "no", "address.region.code": "03", number: 1 };
said["street"] = (await client.outlets.get(key))?.record.address.street;
const region = await client.outlets.list({ "address.country": "no", "address.region.code": "03" }).page();
said["region"] = region.items.map((each) => each.number);
const country: unknown[] = [];
for await (const each of client.outlets.byCountry({ "address.country": "no" }, { limit: 2 })) {
  country.push([each.address.region.code, each.number]);
}
said["country"] = country;

// What places an outlet stays; the rest of its address may change.
const closed = await client.outlets.update(key, {
  open: false,
  address: { country: "no", region: { code: "03" }, street: "Pier" },
});
said["closed"] = [closed.record.open, closed.record.address.street];
try {
  await client.outlets.update(key, { address: { country: "se", region: { code: "03" }, street: "Pier" } });
} catch (error) {
  said["moved"] = error instanceof Problem ? [error.code, error.status] : error;
}
await client.outlets.delete(key);
said["gone"] = await client.outlets.get(key);
console.log(JSON.stringify(said));
