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
  private readonly read: (token: string | undefined) => Promise<Page<T>>;
  private readonly first: string | undefined;

  constructor(read: (token: string | undefined) => Promise<Page<T>>, first: string | undefined) {
    this.read = read;
    this.first = first;
  }

  /** One page: the first, or the one that a token asks for. */
  page(token: string | undefined = this.first): Promise<Page<T>> {
    return this.read(token);
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

type Query = { readonly [name: string]: unknown };

/** Sends requests, again where that may help. A write carries a key, so that it is done once. */
class Transport {
  private readonly options: ClientOptions;

  constructor(options: ClientOptions) {
    this.options = options;
  }

  async send(method: string, path: string, body: unknown, options?: ChangeOptions, query: Query = {}): Promise<Response> {
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
    const response = await this.send(method, path, body, options, query);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  async stored<T>(method: string, path: string, body: unknown, options: ChangeOptions): Promise<Stored<T>> {
    return storedIn<T>(await this.send(method, path, body, options));
  }

  async found<T>(path: string): Promise<Stored<T> | null> {
    try {
      return await storedIn<T>(await this.send("GET", path, undefined));
    } catch (error) {
      if (error instanceof Problem && error.code === "not_found") {
        return null;
      }
      throw error;
    }
  }

  pages<T>(path: string, query: Query, options: PageOptions): Pages<T> {
    const asked: Query = { ...query, ...options };
    const read = (token: string | undefined): Promise<Page<T>> =>
      this.asked<Page<T>>("GET", path, { ...asked, nextToken: token }, undefined);
    return new Pages<T>(read, asked["nextToken"] as string | undefined);
  }

  private async answered(
    url: string,
    request: RequestInit,
    own: Record<string, string>,
    again: boolean,
  ): Promise<Response> {
    const attempts = again ? (this.options.attempts ?? 4) : 1;
    const pause = this.options.pause ?? ((milliseconds) => new Promise((done) => setTimeout(done, milliseconds)));
    for (let attempt = 1; ; attempt += 1) {
      const headers = { ...(await this.options.headers?.()), ...own };
      let wait = Math.random() * 100 * 2 ** attempt;
      try {
        const response = await (this.options.fetch ?? fetch)(url, { ...request, headers });
        if (response.ok) {
          return response;
        }
        if (attempt >= attempts || (response.status !== 503 && response.status !== 429)) {
          throw new Problem(await problemIn(response));
        }
        wait = Math.max(wait, 1000 * Number(response.headers.get("retry-after") ?? 0));
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

async function problemIn(response: Response): Promise<ConstructorParameters<typeof Problem>[0]> {
  const text = await response.text();
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found === "object" && found !== null && "type" in found && "detail" in found) {
      return found as ConstructorParameters<typeof Problem>[0];
    }
  } catch {
    // It is somebody else's answer, such as a gateway's.
  }
  return { type: "internal_error", status: response.status, detail: "the answer is no problem document" };
}

async function storedIn<T>(response: Response): Promise<Stored<T>> {
  const tag = response.headers.get("etag");
  return { record: (await response.json()) as T, rev: tag === null ? null : tag.replace(/^W\//, "").slice(1, -1) };
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
