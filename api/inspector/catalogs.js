// Catalogs of tools, and what words and priors make of an intent.
import { read, readAll } from "./answers.js";
import { chip, link, make, nowrap, quiet, rowForm, table, time } from "./elements.js";
import { moves, number } from "./picture.js";

const MOST_RANKED = 50;

export async function catalogs(page, place) {
  const form = document.getElementById("rank");
  form.hidden = !place.id;
  document.getElementById("priors").hidden = !place.id;
  document.getElementById("intent").value = place.how.intent ?? "";
  document.getElementById("h-rank").textContent = `Tools of ${place.id} for an intent`;
  await Promise.all([
    page.fill("catalogs", () => page.ask("catalogs"), (it) => list(place, it)),
    place.id && place.how.intent
      ? page.fill("rank", () => page.ask("rank", {
        ids: [place.id], body: page.write({ intent: place.how.intent, explain: true })
      }), ranking)
      : page.put("rank"),
    place.id && page.fill("priors", () => page.ask("priors", { ids: [place.id] }), (it) => priors(page, place, it)),
    place.id && page.fill("share", () => page.ask("share"), (it) => shareOfNights(page, it))
  ]);
}

function list(place, it) {
  const rows = readAll("catalog", it.all).map((one) => [
    link({ view: "catalogs", id: one.name, how: place.how }, one.name), number(one.tools), number(one.pipelines), number(one.tokens),
    nowrap(time(one.updatedAt))
  ]);
  return [rows.length
    ? table("Catalogs", ["catalog", "tools", "pipelines", "tokens", "in force since"], rows, [1, 2, 3])
    : quiet("No catalog is stored.")];
}

function priors(page, place, it) {
  const all = readAll("set", it.all);
  const serving = all.find((one) => one.state === "active");
  const canary = all.find((one) => one.state === "canary");
  const rows = all.map((one) => [
    one.version, chip(one.state, one.state === "active" ? "good" : one.state === "rejected" ? "bad" : "off"), one.reason, served(one.canary),
    number(Math.round(one.evidence)), one.drift === null ? "" : `${(one.drift * 100).toFixed(1)} %`, nowrap(time(one.madeAt)),
    one.since === null ? "" : nowrap(time(one.since)), one.until === null ? "" : nowrap(time(one.until))
  ]);
  const heads = ["set", "state", "why", "canary", "plans behind it", "drift", "made", "in force since", "ended"];
  return [
    rows.length ? table("Sets of priors", heads, rows, [0, 4, 5]) : quiet("Nothing was learned for it yet."),
    ...page.buttons("admin", [
      ...(serving ? [["Roll back", () => rollBack(page, place.id, serving)]] : []),
      ...(canary ? [["Stop the canary", () => stopCanary(page, place.id, canary)]] : [])
    ]),
    canary ? null : canaryForm(page, place.id, all.filter((one) => one.state !== "active").map((one) => one.version))
  ];
}

/** A form that serves one of the sets to a share of sessions, for a key that may. */
function canaryForm(page, id, versions) {
  if (!page.can("admin") || !versions.length) {
    return null;
  }
  const set = make("select", "", ...versions.map((version) => make("option", "", version)));
  const share = percent(10, 1);
  return rowForm([["Set", set], ["Share of sessions, %", share]], "Serve to a share", () =>
    startCanary(page, id, Number(set.value), share.valueAsNumber));
}

/** The share of sessions to which a night's better set is served first, and a form that sets it. */
function shareOfNights(page, it) {
  const whose = it.source === "tenant" ? "the share of this tenant" : "the share of the installation";
  const told = it.share
    ? `A night's better set is served to ${Math.round(it.share * 100)} % of sessions first: ${whose}.`
    : `A night's better set takes force at once: ${whose} is 0.`;
  if (!page.can("admin")) {
    return [quiet(told)];
  }
  const share = percent(Math.round(it.share * 100), 0);
  return [quiet(told), rowForm([["Share for later nights, %", share]], "Set the share", () => setShare(page, share.valueAsNumber))];
}

function percent(value, least) {
  const found = make("input", "");
  Object.assign(found, { type: "number", min: least, max: 99, value, required: true });
  return found;
}

/** How a set is or was served to a share of sessions, and how plans went under it and under the set in force. */
function served(given) {
  if (given === null) {
    return "";
  }
  const one = read("canary", given);
  const [fresh, old] = [one.fresh, one.old].map((share) => (share === null ? "unknown" : `${(share * 100).toFixed(1)} %`));
  return `${Math.round(one.share * 100)} % of sessions, ${one.end ?? `until ${time(one.until)}`}: ${fresh} of ${number(one.plans)} plans went well, `
    + `beside ${old} of ${number(one.oldPlans)} under ${one.base === null ? "words alone" : `set ${one.base}`}`;
}

const startCanary = (page, id, version, percent) => page.change({
  title: `Serve set ${version} of ${id} to ${percent} % of sessions`,
  detail: "Each of these sessions is ranked by the set until outcomes of plans promote or drop it. All others keep the set in force.",
  act: "Serve to a share",
  call: ["startCanary", { ids: [id], body: page.write({ version, share: percent / 100 }) }]
});

const setShare = (page, percent) => page.change({
  title: `Serve better sets of later nights to ${percent} % of sessions first`,
  detail: "It holds for all catalogs of the tenant; with 0 a better set takes force at once. A running canary keeps its share.",
  act: "Set the share",
  call: ["setShare", { body: page.write({ share: percent / 100 }) }]
});

const stopCanary = (page, id, one) => page.change({
  title: `Stop the canary of set ${one.version} of ${id}`,
  detail: "Every session is served the set in force again, or words alone where there is none. The figures of the canary stay.",
  act: "Stop the canary",
  call: ["stopCanary", { ids: [id] }]
});

const rollBack = (page, id, one) => page.change({
  title: `Roll back set ${one.version} of ${id}`,
  detail: "The set in force before serves again, or words alone where there was none. The set keeps its figures and is not served again by itself.",
  act: "Roll back",
  call: ["rollBack", { ids: [id], body: page.write({ version: one.version }) }]
});

function ranking(it) {
  const found = moves(readAll("ranked", it.entries));
  const rows = found.slice(0, MOST_RANKED).map((one) => [
    one.place, one.id, one.score.toFixed(3), one.words.toFixed(3), one.prior.toFixed(3), one.byWords, moved(one), (one.reasons ?? []).join("; ")
  ]);
  const heads = ["place", "tool", "score", "words", "prior", "place by words alone", "moved by priors", "why"];
  const rest = found.length - rows.length + it.hidden;
  return [
    quiet(it.set === null
      ? "No set of priors is in force: words alone decide."
      : `Set ${it.set} of priors is in force. It moved ${number(found.filter((one) => one.place !== one.byWords).length)} of ${number(found.length)} tools.`),
    it.gap ? make("p", "problem", it.gap) : null,
    rows.length ? table("Ranking", heads, rows, [0, 2, 3, 4, 5]) : quiet("No tool fits these words."),
    rest ? quiet(`${number(rest)} more are not shown.`) : null
  ];
}

function moved({ place, byWords }) {
  const by = byWords - place;
  return by === 0 ? "" : chip(by > 0 ? `up ${by}` : `down ${-by}`, by > 0 ? "good" : "off");
}
