// Calls of the API, and their answers under the page's own names.
import { API } from "./names.js";

/** Where an answer that was read keeps the answer as it came. */
export const RAW = Symbol("raw");


const SHOWN_ALREADY = ["type", "title", "status", "detail"];

export class Refusal extends Error {
  constructor(status, title, detail, numbers) {
    super(title);
    Object.assign(this, { status, title, detail, numbers });
  }
}

/** The parts of an answer that are named, under our names; null for what it does not hold. */
export function read(kind, answer) {
  const at = (path) => path.split(".").reduce((value, name) => value?.[name] ?? null, answer);
  const found = Object.fromEntries(Object.entries(API.reads[kind]).map(([ours, theirs]) => [ours, at(theirs)]));
  return { ...found, [RAW]: answer };
}

export const readAll = (kind, answers) => (answers ?? []).map((answer) => read(kind, answer));

const filled = (given) => Object.entries(given).filter(([, value]) => value !== "" && value !== null && value !== undefined);

/** A request's body under the API's names, without what is blank. */
export const write = (given) => Object.fromEntries(filled(given).map(([ours, value]) => [API.sends[ours], value]));

/** The address of a call, relative to the page: ids in the order of its path, and a query without what is blank. */
export function pathOf(call, ids = [], query = {}) {
  const [, template] = API.calls[call];
  const left = [...ids];
  const path = template.slice(1).replace(/\{\w+\}/g, () => encodeURIComponent(left.shift() ?? ""));
  const named = new URLSearchParams(filled(query).map(([ours, value]) => [API.queries[ours], value])).toString();
  return named ? `${path}?${named}` : path;
}

/** Make one call and read its answer. Throws a Refusal that says what a person should know. */
export async function ask(call, { key, signal, ids, query, body }) {
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new Refusal(401, "Not a key", "A key has letters, digits and underscores; look for a stray character.", {});
  }
  const [method] = API.calls[call];
  const address = pathOf(call, ids, query);
  const headers = { Authorization: `Bearer ${key}`, Accept: "application/json" };
  const options = { method, headers, signal, cache: "no-store", credentials: "omit", redirect: "manual" };
  if (body) {
    Object.assign(options, { body: JSON.stringify(body) });
    headers["Content-Type"] = "application/json";
  }
  const [answer, text] = await reach(address, options);
  const content = parse(text);
  if (!answer.ok || content === null) {
    throw refusal(answer.status, content);
  }
  return read(call, content);
}

async function reach(address, options) {
  try {
    const answer = await fetch(address, options);
    if (answer.type === "opaqueredirect") {
      throw new Refusal(404, "No such id", "The server leads elsewhere, for an id holds no slash.", {});
    }
    return [answer, await answer.text()];
  } catch (error) {
    if (error.name === "AbortError" || error instanceof Refusal) {
      throw error;
    }
    throw new Refusal(0, "The server does not answer", "Nothing came back from it. Is it running?", {});
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export function refusal(status, content) {
  const problem = read("problem", content);
  const rest = Object.entries(content ?? {}).filter(([name]) => !SHOWN_ALREADY.includes(name));
  const title = problem.title ?? `The server answered with status ${status}`;
  return new Refusal(status, title, problem.detail ?? "It gave no reason.", Object.fromEntries(rest));
}
