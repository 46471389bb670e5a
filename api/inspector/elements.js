// Parts of every view, as elements. Texts of conversations are hostile: they enter the page as text, never as markup.
import { addressOf } from "./place.js";

/** An element of a class with children: elements, or values that become text. */
export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : `${child}`)));
  return element;
}

export const time = (at) => (at ? `${at.slice(0, 19).replace("T", " ")} UTC` : "never");
export const age = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);
export const money = (usd) => (usd === null ? "unknown" : `$${usd.toFixed(usd < 1 ? 4 : 2)}`);
export const quiet = (text) => make("p", "quiet", text);
export const chip = (text, kind) => make("span", `chip ${kind}`, text);
export const nowrap = (text) => make("span", "nowrap", text);

export function link(place, text) {
  const found = make("a", "", text);
  found.href = addressOf(place);
  return found;
}

export function button(text, act, className = "quiet") {
  const found = make("button", className, text);
  found.type = "button";
  found.addEventListener("click", act);
  return found;
}

/** A form of one row: labels with their fields, and what it does. */
export function rowForm(fields, text, act) {
  const send = make("button", "quiet small", text);
  const form = make("form", "row", ...fields.map(([label, field]) => make("label", "", `${label} `, field)), send);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    act();
  });
  return form;
}

/** A table; on a narrow screen each row folds into lines of "head: value". */
export function table(name, heads, rows, numeric = []) {
  const cell = (tag) => (value, place) => make(tag, numeric.includes(place) ? "number" : "", value ?? "");
  const head = make("tr", "", ...heads.map(cell("th")));
  head.querySelectorAll("th").forEach((one) => one.setAttribute("scope", "col"));
  const body = rows.map((row) => make("tr", "", ...row.map(cell("td"))));
  body.forEach((row) => [...row.cells].forEach((one, place) => one.setAttribute("data-head", heads[place])));
  const whole = make("table", "", make("caption", "unseen", name), make("thead", "", head), make("tbody", "", ...body));
  const scroll = make("div", "scroll", whole);
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", name);
  return scroll;
}

export function folded(open, heading, body, className = "") {
  const whole = make("details", className, make("summary", "", ...heading), body);
  whole.open = open;
  return whole;
}

export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null);
  return make("dl", "facts", ...shown.map(([name, value]) => make("div", "", make("dt", "", name), make("dd", "", value))));
}

export function verbatim(text) {
  const whole = make("pre", "", text || "(no text)");
  whole.dir = "auto";
  return whole;
}

/** A button that opens every fold of a part, and closes them again. */
export function openAll(part) {
  const found = button("Open all", () => {
    const folds = [...part.querySelectorAll("details")];
    const anyClosed = folds.some((one) => !one.open);
    folds.forEach((one) => {
      one.open = anyClosed;
    });
    found.textContent = anyClosed ? "Close all" : "Open all";
  }, "quiet small");
  return found;
}

/** A long list, drawn a part at a time; a button draws on. */
export function inParts(items, draw, most = 20) {
  const whole = make("div", "parts");
  let drawn = 0;
  const more = button("", () => {
    const before = whole.children.length;
    go();
    whole.children[before]?.querySelector("summary, a, button")?.focus();
  });
  function go() {
    const next = items.slice(drawn, drawn + most);
    whole.append(...next.map((item, place) => draw(item, drawn + place)));
    drawn += next.length;
    more.textContent = `Show ${Math.min(most, items.length - drawn)} more of ${items.length - drawn}`;
    more.hidden = drawn >= items.length;
  }
  go();
  return make("div", "", whole, more);
}

/** A button that saves an answer of the API as a file. */
export function download(name, answer) {
  return button("JSON", () => {
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(new Blob([JSON.stringify(answer, null, 1)], { type: "application/json" }));
    anchor.download = `${name}.json`;
    anchor.click();
    URL.revokeObjectURL(anchor.href);
  }, "quiet small");
}

export function problem(refusal) {
  const numbers = Object.entries(refusal.numbers).map(([name, value]) => [name.replaceAll("_", " "), said(value)]);
  return make(
    "div",
    "problem",
    make("strong", "", refusal.title),
    make("p", "", refusal.detail),
    numbers.length ? facts(numbers) : null
  );
}

/** A member of a problem, whatever it is: `{"tools": 9}` reads "tools 9". */
function said(value) {
  const parts = value && typeof value === "object" ? Object.entries(value) : null;
  return parts ? parts.map(([name, one]) => `${name} ${said(one)}`).join(", ") : `${value}`;
}

/** Ask a person before a change that stays; true where the person agrees. `typed` has to be typed before. */
export function agreed(title, detail, act, typed = null) {
  const dialog = make("dialog", "", make("h2", "", title), make("p", "", detail));
  const yes = make("button", "danger", act);
  const no = button("Leave it", () => dialog.close());
  const form = make("form", "ask");
  form.method = "dialog";
  if (typed !== null) {
    const field = make("input", "");
    field.autocomplete = "off";
    field.spellcheck = false;
    yes.disabled = true;
    field.addEventListener("input", () => {
      yes.disabled = field.value !== typed;
    });
    form.append(make("label", "wide", make("span", "", "Type ", make("b", "", typed), " to agree"), field));
  }
  form.append(make("div", "buttons", yes, no));
  form.addEventListener("submit", () => {
    dialog.returnValue = "yes";
  });
  dialog.append(form);
  dialog.setAttribute("aria-label", title);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((settle) => {
    dialog.addEventListener("close", () => {
      const answer = dialog.returnValue === "yes";
      dialog.remove();
      settle(answer);
    });
  });
}
