/** What a condition narrows a property to. */
export type Condition<T> =
  | T
  | { readonly eq: T }
  | { readonly from: T; readonly to?: T }
  | { readonly from?: T; readonly to: T };

/** The same of a property that is text. */
export type TextCondition<T> = Condition<T> | { readonly prefix: string };

/** A record and its revision, which a write may require. */
export interface Stored<T> {
  readonly record: T;
  readonly rev: string | null;
}

/** One page of records. */
export interface Page<T> {
  readonly items: ReadonlyArray<T>;
  readonly nextToken: string | null;
  readonly prevToken?: string | null;
  readonly complete: boolean;
}

export interface PageOptions {
  readonly reverse?: boolean;
  /** Records a page, 1 to 500. */
  readonly limit?: number;
  /** Where to begin: the token of another page. */
  readonly nextToken?: string;
}

/** The same with tests of each record after reading. */
export interface ListOptions<F> extends PageOptions {
  readonly filter?: F;
}

export interface WriteOptions {
  /** Names the write, so that it is done once however often it is sent; made up where it is left out. */
  readonly idempotencyKey?: string;
}

export interface ChangeOptions extends WriteOptions {
  /** The revision that the record must have. */
  readonly rev?: string;
}

export interface ClientOptions {
  /** Where the service is, such as `https://api.example.com`. */
  readonly baseUrl: string;
  /** Sent with each request, such as `authorization`; called anew for each. */
  readonly headers?: () => Record<string, string> | Promise<Record<string, string>>;
  readonly fetch?: typeof fetch;
  /** How often a request is sent that was not answered, or asked to come again: 4 times if not given. */
  readonly attempts?: number;
  /** Waits so many milliseconds. */
  readonly pause?: (milliseconds: number) => Promise<void>;
}

/** One value that does not fit. */
export interface Fault {
  readonly where: string;
  readonly detail: string;
  readonly type: string;
}

/** What the service said was wrong. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly where: string | undefined;
  readonly fix: string | undefined;
  readonly errors: ReadonlyArray<Fault>;

  constructor(document: { type: string; status: number; detail: string; where?: string; fix?: string; errors?: Fault[] }) {
    super(document.detail);
    this.name = "Problem";
    this.code = document.type.replace("urn:shardweave:error:", "") as ProblemCode;
    this.status = document.status;
    this.where = document.where;
    this.fix = document.fix;
    this.errors = document.errors ?? [];
  }
}

/** No answer came, however often the request was sent. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";
}

/** Records page by page: `for await` gives each record, `page()` one page, `pages()` all of them. */
export class Pages<T> implements AsyncIterable<T> {
  private readonly read: (token: string | undefined, before?: boolean) => Promise<Page<T>>;
  private readonly first: string | undefined;

  constructor(read: (token: string | undefined, before?: boolean) => Promise<Page<T>>, first: string | undefined) {
    this.read = read;
    this.first = first;
  }

  /** One page: the first, or the one that a token asks for. */
  page(token: string | undefined = this.first): Promise<Page<T>> {
    return this.read(token);
  }

  /** The page before another, by that one's `prevToken`. */
  before(prevToken: string): Promise<Page<T>> {
    return this.read(prevToken, true);
  }

  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let token: string | null | undefined = this.first;
    do {
      const page: Page<T> = await this.read(token ?? undefined);
      yield page;
      token = page.nextToken;
    } while (token !== null);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) {
      yield* page.items;
    }
  }
}

/** A whole answer. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

type Query = { readonly [name: string]: unknown };

/** Sends requests, again where that may help. A write carries a key, so that it is done once. */
class Transport {
  private readonly options: ClientOptions;

  constructor(options: ClientOptions) {
    this.options = options;
  }

  async send(method: string, path: string, body: unknown, options?: ChangeOptions, query: Query = {}): Promise<Answer> {
    const url = this.options.baseUrl.replace(/\/$/, "") + path + queryText(query);
    const headers: Record<string, string> = {};
    if (body !== undefined) {
      headers["content-type"] = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    }
    if (options !== undefined) {
      headers["idempotency-key"] = options.idempotencyKey ?? crypto.randomUUID();
      if (options.rev !== undefined) {
        headers["if-match"] = `"${options.rev}"`;
      }
    }
    const request: RequestInit = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    return this.answered(url, request, headers, method === "GET" || options !== undefined);
  }

  async asked<T>(method: string, path: string, query: Query, body: unknown, options?: WriteOptions): Promise<T> {
    const answer = await this.send(method, path, body, options, query);
    return answer.text === "" ? (undefined as T) : jsonIn<T>(answer);
  }

  async stored<T>(method: string, path: string, body: unknown, options: ChangeOptions): Promise<Stored<T>> {
    return storedIn<T>(await this.send(method, path, body, options));
  }

  async found<T>(path: string): Promise<Stored<T> | null> {
    try {
      return storedIn<T>(await this.send("GET", path, undefined));
    } catch (error) {
      if (error instanceof Problem && error.code === "not_found") {
        return null;
      }
      throw error;
    }
  }

  pages<T>(path: string, query: Query, options: PageOptions): Pages<T> {
    const asked: Query = { ...query, ...options };
    const read = (token: string | undefined, before = false): Promise<Page<T>> => {
      const place = before ? { nextToken: undefined, prevToken: token } : { nextToken: token };
      return this.asked<Page<T>>("GET", path, { ...asked, ...place }, undefined);
    };
    return new Pages<T>(read, asked["nextToken"] as string | undefined);
  }

  private async answered(
    url: string,
    request: RequestInit,
    own: Record<string, string>,
    again: boolean,
  ): Promise<Answer> {
    const attempts = again ? (this.options.attempts ?? 4) : 1;
    const pause = this.options.pause ?? ((milliseconds) => new Promise((done) => setTimeout(done, milliseconds)));
    for (let attempt = 1; ; attempt += 1) {
      const headers = { ...(await this.options.headers?.()), ...own };
      let wait = Math.random() * 100 * 2 ** attempt;
      try {
        const response = await (this.options.fetch ?? fetch)(url, { ...request, headers });
        const answer: Answer = { status: response.status, headers: response.headers, text: await response.text() };
        if (response.ok) {
          return answer;
        }
        if (attempt >= attempts || (response.status !== 503 && response.status !== 429)) {
          throw new Problem(problemIn(answer));
        }
        // A gateway may say it as a date: then the pause is our own.
        wait = Math.max(wait, 1000 * Number(response.headers.get("retry-after") ?? 0) || 0);
      } catch (error) {
        if (error instanceof Problem) {
          throw error;
        }
        if (attempt >= attempts) {
          throw new Unanswered("the service did not answer", { cause: error });
        }
      }
      await pause(wait);
    }
  }
}

function problemIn(answer: Answer): ConstructorParameters<typeof Problem>[0] {
  try {
    const found: unknown = JSON.parse(answer.text);
    if (typeof found === "object" && found !== null && "type" in found && "detail" in found) {
      return { status: answer.status, ...(found as Omit<ConstructorParameters<typeof Problem>[0], "status">) };
    }
  } catch {
    // It is somebody else's answer, such as a gateway's.
  }
  return { type: "internal_error", status: answer.status, detail: "the answer is no problem document" };
}

function jsonIn<T>(answer: Answer): T {
  try {
    return JSON.parse(answer.text) as T;
  } catch {
    throw new Problem({ type: "internal_error", status: answer.status, detail: "the answer is not JSON" });
  }
}

function storedIn<T>(answer: Answer): Stored<T> {
  const tag = answer.headers.get("etag");
  return { record: jsonIn<T>(answer), rev: tag === null ? null : tag.replace(/^W\//, "").slice(1, -1) };
}

function queryText(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const pairs = given.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

function conditionsOf(conditions: object, index: string | undefined, filter: object = {}): Query {
  const found: Record<string, unknown> = { index };
  for (const [name, value] of Object.entries(filter)) {
    if (typeof value === "object" && value !== null) {
      for (const [word, bound] of Object.entries(value)) {
        found[word === "eq" ? `filter.${name}` : `filter.${name}.${word}`] = bound;
      }
    } else {
      found[`filter.${name}`] = value;
    }
  }
  for (const [name, value] of Object.entries(conditions)) {
    if (typeof value === "object" && value !== null) {
      for (const [word, bound] of Object.entries(value)) {
        found[`${name}.${word}`] = bound;
      }
    } else {
      found[`${name}.eq`] = value;
    }
  }
  return found;
}

function recordPath(collection: string, parts: ReadonlyArray<unknown>): string {
  const texts = parts.map((part) => encodeURIComponent(keyPart(String(part))));
  return [collection, ...texts].join("/");
}

/** A key as a part of a path: what would not arrive is written in another form. */
function keyPart(key: string): string {
  const unsafe = /[?#%\\\x00-\x1f\x7f]|(^|\/)(\.{0,2})(\/|$)/;
  if (!unsafe.test(key) && !key.includes("/")) {
    return key;
  }
  const quoted = encodeURIComponent(key).replace(/[!'()*.]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
  return `=${quoted}`;
}
