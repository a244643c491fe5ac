/** Requests to the API that this page came from. No other address is asked, and no token leaves for one. */

const ROOT = location.pathname.replace(/\/explorer\/?$/, "");
const KEPT = "shardweave-token";

let token = "";

/** The token of this tab: one that the address ends with (`#token=...`) is taken out of it. Says whether there was. */
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    history.replaceState(null, "", location.pathname + location.search);
    useToken(given);
  } else {
    token = sessionStorage.getItem(KEPT) ?? "";
  }
  return Boolean(given);
}

/** Use a token, or with an empty text none, until the tab is closed. */
export function useToken(text) {
  token = text.trim().replace(/^Bearer\s+/i, "");
  if (token) sessionStorage.setItem(KEPT, token);
  else sessionStorage.removeItem(KEPT);
}

export const hasToken = () => token !== "";

/** What the API refused, or could not do. */
export class Problem extends Error {
  constructor(status, document) {
    super(document?.detail ?? document?.message ?? document?.title ?? `The server answered ${status}.`);
    this.status = status;
    this.code = String(document?.type ?? "").replace(/^.*:/, "");
    this.title = document?.title ?? (status ? `Status ${status}` : "No answer");
    this.where = document?.where ?? "";
    this.fix = document?.fix ?? "";
    this.errors = document?.errors ?? [];
  }
}

/** The answer of a request: its document, its entity tag, and how long it took. Throws Problem. */
export async function ask(method, path, { body, headers = {} } = {}) {
  const sent = { accept: "application/json", ...headers };
  if (!/^[\x21-\x7e]*$/.test(token)) {
    throw new Problem(401, {
      title: "Not sent",
      detail: "The token has characters that no token has.",
      fix: "copy it once more, whole and without anything around it",
    });
  }
  if (token) sent.authorization = `Bearer ${token}`;
  if (body !== undefined) sent["content-type"] = "application/json";
  const began = performance.now();
  let answer, text;
  try {
    answer = await fetch(ROOT + path, {
      method,
      headers: sent,
      body: body === undefined ? null : JSON.stringify(body),
      redirect: "error",
      cache: "no-store",
    });
    text = await answer.text();
  } catch {
    throw new Problem(0, { detail: "The server does not answer.", fix: "check that it runs, and try again" });
  }
  const milliseconds = performance.now() - began;
  const document = parsed(text);
  if (!answer.ok) throw new Problem(answer.status, document);
  return { document, status: answer.status, etag: answer.headers.get("etag"), milliseconds };
}

/** JSON in which a whole number that JavaScript would round keeps its digits. */
export function parsed(text) {
  if (!text) return null;
  const exact = (_, value, context) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) && context?.source && JSON.rawJSON
      ? JSON.rawJSON(context.source)
      : value;
  try {
    return JSON.parse(text, exact);
  } catch {
    return { detail: "The answer is no JSON." };
  }
}

/** A random name for a write, which is carried out once however often it is sent. */
export const once = () => ({ "idempotency-key": crypto.randomUUID() });

/** The path of a record. A key that would be changed on the way is written as the API writes it. */
export function recordPath(entity, record) {
  const names = [...entity.identity];
  return entity.path.replace(/\{\w+\}/g, () => {
    const key = shownText(valueAt(record, names.shift()));
    const changes = /[?#%\\\x00-\x1f\x7f]|(^|\/)(\.{0,2})(\/|$)/.test(key) || (names.length && key.includes("/"));
    return encodeURIComponent(changes ? "=" + encodeURIComponent(key).replaceAll(".", "%2E") : key);
  });
}

/** What a record has at a property, or, by its path, at a member of an object in it. */
export function valueAt(record, name) {
  return record[name] ?? name.split(".").reduce((found, step) => found?.[step], record);
}

/** A value as text, exactly. */
export function shownText(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object") return String(value);
  return JSON.isRawJSON?.(value) ? value.rawJSON : JSON.stringify(value);
}
