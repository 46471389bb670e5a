// The versions of a session's summary: each with its citations as links, two of them side by side.
import { readAll } from "./answers.js";
import { diffLines } from "./diff.js";
import { chip, folded, link, make, quiet, time } from "./elements.js";
import { addressOf } from "./place.js";
import { cited, growth, range } from "./picture.js";

const COLOUR = { active: "good", rejected: "bad" };

export function summaries(page, place, it) {
  const all = readAll("summary", it.all);
  if (!all.length) {
    return [quiet("None was written yet.")];
  }
  const pair = (place.how.versions ?? "").split("-").map(Number).map((version) => all.find((one) => one.version === version));
  return [
    all.length > 1 ? choice(place, all, pair) : null,
    pair.every(Boolean) && pair.length === 2 ? beside(place, ...pair) : null,
    ...all.map((one) => summary(page, place, one, all))
  ];
}

function summary(page, place, one, all) {
  const heading = [
    make("b", "", `Version ${one.version}`), chip(one.state, COLOUR[one.state] ?? "off"),
    make("span", "quiet", `messages ${range(one.from, one.to)}: ${growth(one, all)}; `
      + `${one.model === one.method ? one.model : `${one.model}, ${one.method}`}, ${time(one.createdAt)}`),
    one.rejected ? make("span", "bad", `rejected: ${one.rejected}`) : null
  ];
  const canServe = one.state !== "active" && one.state !== "rejected";
  const buttons = canServe ? page.buttons("write", [["Put in force", () => activate(page, place.id, one)]]) : [];
  return folded(false, heading, make("div", "", notes(place, one.text), ...buttons), "message");
}

/** A summary's text; each number in a citation leads to its message. */
function notes(place, text) {
  const parts = cited(text).map(({ said, seq }) =>
    seq === null ? said : link({ ...place, how: { ...place.how, message: seq } }, said));
  const whole = make("pre", "", ...(text ? parts : ["(no text)"]));
  whole.dir = "auto";
  return whole;
}

function choice(place, all, [left, right]) {
  const select = (label, chosen) => {
    const field = make("select", "", ...all.map((one) => {
      const option = make("option", "", `${one.version}, ${one.state}`);
      option.value = one.version;
      option.selected = one === chosen;
      return option;
    }));
    return [make("label", "", label, field), field];
  };
  const [before, from] = select("Version", left ?? all[1]);
  const [after, to] = select("beside", right ?? all[0]);
  const go = make("button", "quiet", "Compare");
  const form = make("form", "row", before, after, go);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = addressOf({ ...place, how: { ...place.how, versions: `${from.value}-${to.value}` } });
  });
  return form;
}

function beside(place, left, right) {
  const cell = (line, mark, className) => make("td", line === null ? "none" : className, ...(line === null ? [] : [make("span", "mark", mark), line]));
  const rows = diffLines(left.text, right.text).map((row) => make("tr", "", ...(row.same
    ? [cell(row.left, " ", ""), cell(row.right, " ", "twice")]
    : [cell(row.left, "−", "gone"), cell(row.right, "+", "come")])));
  const heads = [left, right].map((one) => make("th", "", `Version ${one.version}, messages ${range(one.from, one.to)}`));
  heads.forEach((one) => one.setAttribute("scope", "col"));
  const whole = make(
    "table", "diff", make("caption", "unseen", `Version ${left.version} beside version ${right.version}`),
    make("thead", "", make("tr", "", ...heads)), make("tbody", "", ...rows)
  );
  const { versions, ...rest } = place.how;
  return make("div", "beside", whole, make("p", "", link({ ...place, how: rest }, "Close the comparison")));
}

const activate = (page, id, one) => page.change({
  title: `Put version ${one.version} in force`,
  detail: `From the next request on, version ${one.version} stands for messages ${range(one.from, one.to)} of ${id}; later messages are sent as they were said.`,
  act: "Put in force",
  call: ["activate", { ids: [id, one.version] }]
});
