// Builds the keys of the users that the first line of standard input names, as often as each later line says, and
// answers with the seconds of CPU that the thread took.
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { EntityManager } from "@karmaniverous/entity-manager";

const golden = JSON.parse(readFileSync(process.argv[2], "utf8"));
const text = { encode: (value) => value, decode: (value) => value };
const time = { encode: (value) => value.toString(), decode: (value) => parseInt(value) };
const manager = new EntityManager(
  {
    ...golden.config,
    generatedKeyDelimiter: "|",
    generatedValueDelimiter: "#",
    shardKeyDelimiter: "!",
    transcodes: { string: text, timestamp: time },
  },
  { debug() {}, error() {} },
);
const users = golden.users.map((user) => user.item);

for await (const line of createInterface({ input: process.stdin })) {
  const rounds = Number(line);
  const begun = process.threadCpuUsage();
  let last;
  for (let round = 0; round < rounds; round++) for (const user of users) last = manager.addKeys("user", user);
  const { user: own, system } = process.threadCpuUsage(begun);
  const seconds = (own + system) / 1e6;
  console.log(JSON.stringify({ seconds, last }));
}
