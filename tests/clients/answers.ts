import { Client, Problem } from "./client.js";

const pauses: number[] = [];
const sent: string[] = [];
const page = JSON.stringify({ items: [], nextToken: null, prevToken: null, complete: true });

function client(...answers: Response[]): Client {
  const send = (url: string | URL | Request): Promise<Response> => {
    sent.push(String(url).replace("http://here", ""));
    const answer = answers.shift();
    return answer === undefined ? Promise.reject(new TypeError("no network")) : Promise.resolve(answer);
  };
  const pause = async (milliseconds: number): Promise<void> => {
    pauses.push(milliseconds);
  };
  return new Client({ baseUrl: "http://here", fetch: send, pause });
}

/** An answer whose body breaks off. */
function cut(): Response {
  const body = new ReadableStream({ start: (flow) => flow.error(new TypeError("terminated")) });
  return new Response(body, { status: 200 });
}

async function raised(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    return error instanceof Problem ? [error.code, error.status] : (error as Error).name;
  }
}

const later = new Response("{}", { status: 503, headers: { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" } });
await client(later, new Response(page)).pages.byState({}, { limit: 2, nextToken: "first" }).before("a");
const said: Record<string, unknown> = {
  pauses: pauses.length,
  short: pauses.every((each) => each >= 0 && each < 1000),
  back: sent[1],
};
said["broken"] = await raised(client(cut(), cut(), cut(), cut()).pages.get("p"));
said["foreign"] = await raised(client(new Response("<html>")).pages.get("p"));
const document = { type: "urn:shardweave:error:throttled", detail: "later" };
said["without"] = await raised(client(new Response(JSON.stringify(document), { status: 418 })).pages.get("p"));
console.log(JSON.stringify(said));
