// The page: an address names a view, a key opens it. The key stays in this tab's session storage and goes into one header.
import { ask, RAW, Refusal, write } from "./answers.js";
import { catalogs } from "./catalogs.js";
import { agreed, button, download, facts, make, problem, time } from "./elements.js";
import { fieldOf } from "./fields.js";
import { sessions, users } from "./lists.js";
import { addressOf, placeOf } from "./place.js";
import * as session from "./session.js";
import { startTheme } from "./theme.js";
import { usage } from "./usage.js";
import { work } from "./work.js";

const KEY = "afterturn-key";
const VIEWS = { sessions, users, session: session.view, usage, work, catalogs };

const at = (id) => document.getElementById(id);
const value = (id) => at(id).value.trim();
let running = new AbortController();
let shown = null;
let scopes = [];
let known = null;

function put(part, ...children) {
  at(`at-${part}`).replaceChildren(...children.filter(Boolean));
  at(`at-${part}`).closest("section").classList.toggle("empty", !children.length);
}

const clear = (view) => view.querySelectorAll("[id^=at-]").forEach((one) => put(one.id.slice("at-".length)));

/** Show which field of the form a refusal is about. */
function mark(refusal) {
  const found = at(fieldOf(refusal.numbers.field, value("attachments")) ?? "");
  if (found) {
    found.setAttribute("aria-invalid", "true");
    found.closest("details")?.setAttribute("open", "");
  }
}

/** What a view may do: ask, show, and change something after a person agreed. */
function pageOf(signal) {
  const page = {
    write,
    put,
    ask: (call, given) => ask(call, { key: value("key"), signal, ...given }),
    can: (scope) => scopes.includes(scope),
    buttons: (scope, named) =>
      scopes.includes(scope) ? [make("p", "buttons", ...named.map(([text, act]) => button(text, act, "quiet small")))] : [],
    async fill(part, call, draw) {
      try {
        const answer = await call();
        put(part, ...draw(answer), download(part, answer[RAW]));
      } catch (error) {
        if (!(error instanceof Refusal)) {
          throw error;
        }
        put(part, problem(error));
        mark(error);
      }
    },
    async change({ title, detail, act, typed, call: [call, given] }) {
      if (await agreed(title, detail, act, typed)) {
        await tell(async () => {
          const answer = await ask(call, { key: value("key"), ...given });
          await open({ anew: true });
          at("status").replaceChildren(make("div", "done", make("strong", "", `${title}: done.`), receipt(answer)));
          at("status").scrollIntoView({ block: "nearest" });
        });
      }
    }
  };
  return page;
}

function receipt(answer) {
  const counts = Object.entries({ ...answer.removed, ...answer.invalidated }).map(([name, rows]) => [name.replaceAll("_", " "), rows]);
  return counts.length ? facts(counts) : null;
}

/** Do something, and say in words where it fails. */
async function tell(act) {
  try {
    await act();
  } catch (error) {
    if (error.name !== "AbortError") {
      const known = error instanceof Refusal ? error : new Refusal(0, "This page failed", String(error), {});
      at("status").replaceChildren(problem(known));
      at("status").scrollIntoView({ block: "nearest" });
    }
  }
}

/** Learn once what the key may do, for only such buttons are shown. */
async function learnScopes(signal) {
  if (known === value("key")) {
    return;
  }
  const key = value("key");
  const found = await ask("key", { key, signal });
  [scopes, known] = [found.scopes, key];
  at("who").textContent = `: ${found.label}, may ${found.scopes.join(", ")}${found.endsAt ? ` until ${time(found.endsAt)}` : ""}`;
}

/** Show the view that the address names; `anew` asks again for all of it. */
async function open({ anew = false } = {}) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  document.documentElement.setAttribute("data-place", location.hash);
  document.documentElement.setAttribute("data-state", "asking");
  const [place, before, page] = [placeOf(location.hash), anew ? null : shown, pageOf(signal)];
  const view = at(`view-${place.view}`);
  document.querySelectorAll("[data-view]").forEach((one) => {
    one.hidden = one !== view;
  });
  document.querySelectorAll("nav a").forEach((one) => {
    one.setAttribute("aria-current", one.hash === `#/${place.view}` ? "page" : "false");
  });
  view.querySelectorAll("form[data-find] [data-how]").forEach((field) => {
    field.value = place.how[field.dataset.how] ?? "";
  });
  view.querySelectorAll("[aria-invalid]").forEach((field) => field.removeAttribute("aria-invalid"));
  document.title = `${place.id || view.dataset.view} – Afterturn Inspector`;
  at("status").replaceChildren();
  if (before?.view !== place.view || before.id !== place.id) {
    clear(view);
  }
  shown = null;
  if (!value("key")) {
    at("access").open = true;
    at("status").replaceChildren("Give a key to see anything.");
    document.documentElement.setAttribute("data-state", "ready");
    return;
  }
  at("status").replaceChildren("Asking…");
  await tell(async () => {
    await learnScopes(signal);
    await VIEWS[place.view](page, place, before);
    at("status").replaceChildren();
    shown = place;
  });
  if (!signal.aborted) {
    document.documentElement.setAttribute("data-state", "ready");
  }
}

/** Go to a place, or ask again where the page is there already. */
function go(place) {
  const address = addressOf(place);
  if (location.hash === address) {
    open({ anew: true });
  } else {
    location.hash = address;
  }
}

async function enter(event) {
  event?.preventDefault();
  sessionStorage.setItem(KEY, value("key"));
  at("access").open = false;
  await open({ anew: true });
}

function forget() {
  running.abort();
  sessionStorage.removeItem(KEY);
  at("key").value = "";
  [scopes, known] = [[], null];
  at("who").textContent = "";
  document.querySelectorAll("[data-view]").forEach(clear);
  at("status").replaceChildren("The key is forgotten.");
  at("access").open = true;
  at("key").focus();
}

/** A form whose fields are the address: what they say comes after the question mark. */
function findBy(form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = [...form.querySelectorAll("[data-how]")];
    const { view, id } = placeOf(location.hash);
    go({ view, id, how: Object.fromEntries(fields.map((field) => [field.dataset.how, field.value.trim()])) });
  });
}

startTheme(at("theme"));
at("key").value = sessionStorage.getItem(KEY) ?? "";
at("access").open = !value("key");
at("open").addEventListener("submit", enter);
at("forget").addEventListener("click", forget);
document.querySelectorAll("form[data-find]").forEach(findBy);
at("days").addEventListener("change", () => at("days").form.requestSubmit());
at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  shown = null; // the request may be another: all of it is asked for again
  go({ view: "session", id: value("session") });
});
at("ask").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    at("ask").requestSubmit();
  }
});
window.addEventListener("hashchange", () => open());
open();
