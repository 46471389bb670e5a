// One session: its state, its next window, its messages and its summaries.
import { RAW, readAll, Refusal } from "./answers.js";
import { artifacts } from "./artifacts.js";
import { age, download, facts, make, nowrap, problem, quiet, table, time } from "./elements.js";
import { attachments, tools } from "./fields.js";
import { log } from "./log.js";
import { number } from "./picture.js";
import { served } from "./served.js";
import { summaries } from "./summaries.js";
import * as sent from "./window.js";

const ANY_MODEL = "gpt-4o-mini";

const at = (id) => document.getElementById(id);
const value = (id) => at(id).value.trim();

/** Show a session; `before` is the place that was shown, so that a step within a session asks for no more than it needs. */
export async function view(page, place, before) {
  at("session").value = place.id;
  if (!place.id) {
    return;
  }
  const differs = (name) => before?.id !== place.id || before.view !== "session" || before.how[name] !== place.how[name];
  if (before?.view !== "session" || before.id !== place.id) {
    await whole(page, place);
    return;
  }
  await Promise.all([
    differs("message") && log(page, place),
    differs("versions") && versions(page, place),
    differs("window") && served(page, place)
  ]);
}

async function whole(page, place) {
  const ids = [place.id];
  let session = null;
  try {
    session = await page.ask("session", { ids });
    page.put("session", ...state(page, place, session), download("session", session[RAW]));
  } catch (error) {
    if (error instanceof Refusal && error.status === 422) {
      page.put("session", problem(error));
      return;
    }
    if (!(error instanceof Refusal) || error.status !== 404) {
      throw error;
    }
    const none = new Refusal(404, "No such session", `No turn was stored under the id ${place.id}. Check it letter by letter.`, {});
    page.put("session", problem(none), quiet("Below is what the first request of a new session would be."));
  }
  const isKnown = session !== null;
  await Promise.all([
    page.fill("context", async () => page.ask("context", { ids, body: request(page, session) }), (it) => {
      page.put("messages", ...sent.messages(it, place));
      return sent.context(it, isKnown);
    }),
    isKnown && served(page, place),
    isKnown && versions(page, place),
    isKnown && log(page, place),
    isKnown && page.fill("artifacts", () => page.ask("artifacts", { ids }), (it) => artifacts(place, it))
  ]);
}

const versions = (page, place) =>
  page.fill("summaries", () => page.ask("summaries", { ids: [place.id] }), (it) => summaries(page, place, it));

function request(page, session) {
  return page.write({
    model: value("model") || session?.model || ANY_MODEL,
    window: Number(value("window")) || session?.window,
    most: Number(value("most")) || null,
    prompt: at("prompt").value,
    catalog: value("catalog"),
    messages: [{ role: "user", content: at("message").value }],
    focus: at("focus").value,
    attachments: attachments(value("attachments"), at("document").value),
    tools: tools(at("tools").value),
    look: true
  });
}

function state(page, place, it) {
  const background = it.pending
    ? `work is due${it.ageS === null ? "" : `, for ${age(it.ageS)}`}`
    : "nothing is due";
  const work = readAll("work", it.work).map((one) => [
    one.kind, one.state, nowrap(time(one.dueAt)), one.attempts, one.crashes, one.outcome, one.error
  ]);
  const changes = page.buttons("write", [["Reset", () => reset(page, place.id)], ["Erase", () => erase(page, place.id)]]);
  return [
    facts([
      ["Turns", `${number(it.turns)} in ${number(it.lastSeq)} messages`],
      ["Last turn", time(it.lastTurnAt)],
      ["Model", it.model ?? "not named yet"],
      ["Window", it.window === null ? "not named yet" : `${number(it.window)} tokens`],
      ["Generation", it.generation > 1 ? `${it.generation}, after a reset, an edit or an erasure` : null],
      ["Summarized", it.through ? `through message ${it.through} of ${it.lastSeq}` : "nothing yet"],
      ["Background", background],
      ["Summaries rest", it.restsUntil ? `until ${time(it.restsUntil)}: ${it.restReason}` : null],
      ["History", `${number(it.history)} tokens: ${number(it.raw)} raw, ${number(it.summarized)} summarized`],
      ["Its summary", it.summary ? `${number(it.summary)} tokens` : null],
      ["Last request", `${number(it.prompt)} tokens of system prompt, ${number(it.tools)} of tools`]
    ]),
    ...it.errors.map((error) => make("p", "problem", `Last error: ${error}`)),
    work.length
      ? table("Background work", ["work", "state", "due", "failures", "crashes", "last outcome", "last error"], work, [3, 4])
      : quiet("No background work is known for it."),
    ...changes
  ];
}

const reset = (page, id) => page.change({
  title: `Reset ${id}`,
  detail: "The session starts empty. Its log stays and can be read, but no request is given it any more.",
  act: "Reset the session",
  call: ["reset", { ids: [id] }]
});

const erase = (page, id) => page.change({
  title: `Erase ${id}`,
  detail: "Every message goes, with all that was made of it. It cannot be undone.",
  act: "Erase the session",
  typed: id,
  call: ["eraseSession", { ids: [id] }]
});
