// Reads all users by first name, page by page, and answers with what each page gave. The arguments name a file with
// the configuration, the stored users, the limit and the most pages to read. The end is
// an empty page.
import { readFileSync } from "node:fs";
import { EntityManager } from "@karmaniverous/entity-manager";

const { config, people, limit, pageSize, mostPages } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const text = { encode: (value) => value, decode: (value) => value };
const time = { encode: (value) => value.toString(), decode: (value) => parseInt(value) };
const manager = new EntityManager(
  {
    ...config,
    generatedKeyDelimiter: "|",
    generatedValueDelimiter: "#",
    shardKeyDelimiter: "!",
    transcodes: { string: text, timestamp: time },
  },
  { debug() {}, error() {} },
);

// As DynamoDB: records of a hash key in the order of the range key's bytes; a last key whenever the limit was reached.
const shards = new Map();
for (const person of people) shards.set(person.hashKey, [...(shards.get(person.hashKey) ?? []), person]);
const before = (a, b) => Buffer.compare(Buffer.from(a.firstNameRangeKey), Buffer.from(b.firstNameRangeKey));
for (const shard of shards.values()) shard.sort(before);
let requests = 0;
const firstName = async (hashKey, pageKey, size) => {
  requests += 1;
  const shard = shards.get(hashKey) ?? [];
  const begin = pageKey ? shard.filter((each) => before(each, pageKey) <= 0).length : 0;
  const items = shard.slice(begin, begin + size);
  const last = items.at(-1);
  const more = items.length === size && size > 0;
  const { rangeKey, firstNameRangeKey } = last ?? {};
  return { count: items.length, items, pageKey: more ? { hashKey, rangeKey, firstNameRangeKey } : undefined };
};

const pages = [];
let pageKeyMap;
let failure = "";
try {
  do {
    const sortOrder = [{ property: "firstNameCanonical" }];
    const options = { entityToken: "user", item: {}, limit, pageSize, pageKeyMap, shardQueryMap: { firstName }, sortOrder };
    const page = await manager.query(options);
    pageKeyMap = page.pageKeyMap;
    pages.push({ names: page.items.map((each) => each.firstNameCanonical), token: pageKeyMap.length });
  } while (pages.at(-1).names.length > 0 && pages.length < mostPages);
} catch (error) {
  failure = error.message;
}
console.log(JSON.stringify({ pages, requests, failure }));
