// Addresses of the page: `#/session/ID?message=12` is a view, what it shows and how. Pure functions; no key is in one.

const VIEWS = ["sessions", "users", "session", "usage", "work", "catalogs"];
const START = { view: "sessions", id: "", how: {} };

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** The place that an address names. `#walk-long`, without a slash in front, is the session of that id. */
export function placeOf(hash) {
  const named = hash.replace(/^#/, "");
  if (!named) {
    return START;
  }
  if (!named.startsWith("/")) {
    return { view: "session", id: decoded(named), how: {} };
  }
  const [path, query] = named.slice(1).split("?", 2);
  const [view, ...rest] = path.split("/");
  const how = Object.fromEntries(new URLSearchParams(query ?? ""));
  return VIEWS.includes(view) ? { view, id: decoded(rest.join("/")), how } : START;
}

/** The address of a place; what is blank is left out. */
export function addressOf({ view, id = "", how = {} }) {
  const named = Object.entries(how).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(named).toString();
  return `#/${view}${id ? `/${encodeURIComponent(id)}` : ""}${query ? `?${query}` : ""}`;
}
