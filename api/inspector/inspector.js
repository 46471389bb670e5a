// The form, and the four calls behind it. The key stays in this tab's session storage and goes into one header.
import { ask, read, readAll, Refusal, write } from "./answers.js";
import { attachments, fieldOf, tools } from "./fields.js";
import * as show from "./show.js";

const KEY = "afterturn-key";
const ANY_MODEL = "gpt-4o-mini";
const SECTIONS = ["session", "context", "messages", "summaries", "usage"];

const at = (id) => document.getElementById(id);
const value = (id) => at(id).value.trim();
let running = new AbortController();

function put(section, ...children) {
  at(`at-${section}`).replaceChildren(...children.filter(Boolean));
  at(`at-${section}`).parentElement.hidden = !children.length;
}

/** Show which field of the form a refusal is about. */
function mark(refusal) {
  const found = document.getElementById(fieldOf(refusal.numbers.field, value("attachments")) ?? "");
  if (found) {
    found.setAttribute("aria-invalid", "true");
    found.closest("details")?.setAttribute("open", "");
  }
}

/** Fill a section with what a call brings, or with what it refuses; the answer, or null. */
async function fill(section, call, draw) {
  try {
    const answer = await call();
    put(section, ...draw(answer));
    return answer;
  } catch (error) {
    if (!(error instanceof Refusal)) {
      throw error;
    }
    put(section, show.problem(error));
    mark(error);
    return null;
  }
}

function request(session) {
  return write({
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

function drawContext(answer) {
  const certificate = read("certificate", answer.certificate);
  const blocks = readAll("block", certificate.blocks);
  put("messages", ...show.messages(answer, blocks));
  return show.context(answer, certificate, blocks);
}

async function inspect(signal) {
  const who = { key: value("key"), session: value("session"), signal };
  let session = null;
  try {
    session = await ask("session", who);
    put("session", ...show.session(session));
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 404) {
      throw error;
    }
    put("session", show.problem(error), show.make("p", "quiet", "Below is what its first request would be."));
  }
  await Promise.all([
    fill("context", async () => ask("context", { ...who, body: request(session) }), drawContext),
    session && fill("summaries", () => ask("summaries", who), show.summaries),
    fill("usage", () => ask("usage", who), show.usage)
  ]);
}

async function run(event) {
  event.preventDefault();
  running.abort();
  running = new AbortController();
  const { signal } = running;
  sessionStorage.setItem(KEY, value("key"));
  history.replaceState(null, "", `#${encodeURIComponent(value("session"))}`);
  SECTIONS.forEach((section) => put(section));
  at("ask").querySelectorAll("[aria-invalid]").forEach((field) => field.removeAttribute("aria-invalid"));
  at("status").replaceChildren("Asking…");
  try {
    await inspect(signal);
    at("status").replaceChildren();
  } catch (error) {
    if (error.name !== "AbortError") {
      const known = error instanceof Refusal ? error : new Refusal(0, "This page failed", String(error), {});
      at("status").replaceChildren(show.problem(known));
    }
  }
}

function forget() {
  running.abort();
  sessionStorage.removeItem(KEY);
  at("key").value = "";
  SECTIONS.forEach((section) => put(section));
  at("status").replaceChildren("The key is forgotten.");
  at("key").focus();
}

function sessionOfAddress() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

SECTIONS.forEach((section) => put(section));
at("key").value = sessionStorage.getItem(KEY) ?? "";
at("session").value = sessionOfAddress();
at("ask").addEventListener("submit", run);
at("forget").addEventListener("click", forget);
at("ask").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    at("ask").requestSubmit();
  }
});
