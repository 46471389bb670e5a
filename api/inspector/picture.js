// The window as a picture: pure functions, from what the API says to what is drawn. No document, no network.

const LABELS = {
  overhead: "overhead of the model", system_prompt: "system prompt", tools: "tools", summary: "summary",
  compaction: "the provider's compaction",
  history: "tail", artifact: "artifacts", recall: "recall", new: "new message",
  reserved: "reserved for the answer", unused: "held back by the budget", free: "free"
};
const WHY = {
  "does-not-fit": "no room in the budget",
  "shortened-to-fit": "shortened, for it did not fit whole",
  "emergency-cut": "cut away after a refusal of the provider",
  "search-failed": "the search for older messages failed",
  "not-wanted-by-preflight": "the message does not ask for it",
  "no-room-for-tools": "no room among the tools",
  "not-a-tool": "a pipeline is not sent as a tool"
};

const READINGS = {
  full: "the whole", exact: "a summary for this question", near: "a summary for a near question",
  earlier: "a summary for this question, by another summarizer", extract: "passages of it"
};

export const number = (value) => (value === null ? "unknown" : value.toLocaleString("en"));
export const range = (first, last) => (first === last ? `${first}` : `${first}–${last}`);
export const labelOf = (source) => LABELS[source] ?? source;
export const why = (reason) => WHY[reason] ?? reason;

/** What a window shows of an artifact, in plain words. */
export function reading({ how, near, other }) {
  const said = READINGS[how] ?? "nothing";
  const likeness = how === "near" && near < 1 ? ` (${Math.round(near * 100)} % alike)` : "";
  return how === "near" && near === 1 ? READINGS.earlier : `${said}${likeness}${other ? ", by another summarizer" : ""}`;
}

/** What a summary was made of and what became of it: the messages that it adds, and the version that it builds on. */
export function growth(one, all) {
  const baseOf = (version) => all.find((other) => other.version === version.base);
  const made = one.adds ? `${number(one.covered)} tokens of messages ${range(...one.adds)}` : `${number(one.covered)} tokens`;
  if (one.base === null) {
    return `${made} became ${number(one.tokens)}`;
  }
  const base = baseOf(one);
  let whole = one.covered;
  let first = one;
  while (first.base !== null && baseOf(first)) {
    first = baseOf(first);
    whole += first.covered;
  }
  const sums = first.base === null ? `; all messages ${range(one.from, one.to)} have ${number(whole)}` : "";
  const notes = base ? `${number(base.tokens)} tokens of version ${one.base}` : `version ${one.base}, which is deleted,`;
  return `${notes} and ${made} became ${number(one.tokens)}${sums}`;
}

/** The window from its first token to its last: each block, what is kept for the answer, what is free. */
export function segments(certificate, blocks) {
  const { input, budget, window, most } = certificate;
  const free = Math.max(Math.min(budget, window - most) - input, 0);
  const ends = [
    { source: "free", tokens: free, origin: "", trust: "" },
    { source: "unused", tokens: Math.max(window - most - input - free, 0), origin: "", trust: "" },
    { source: "reserved", tokens: most, origin: "", trust: "" }
  ];
  return [...blocks, ...ends]
    .filter((part) => part.tokens > 0)
    .map((part) => ({ ...part, label: labelOf(part.source), share: part.tokens / window }));
}

/** The conversation as runs of messages: in the summary, left out, in the tail, or not part of this window. */
export function runs(certificate, exclusions, lastSeq) {
  const left = exclusions.map((one) => /^messages (\d+)-(\d+)$/.exec(one.what)).filter(Boolean);
  const known = [
    ["summary", certificate.covers],
    ...left.map(([, first, last]) => ["excluded", [Number(first), Number(last)]]),
    ["history", certificate.tail]
  ].filter(([, ends]) => ends);
  known.sort(([, one], [, other]) => one[0] - other[0]);
  const found = [];
  let next = 1;
  for (const [kind, [first, last]] of [...known, ["end", [lastSeq + 1, lastSeq + 1]]]) {
    if (first > next) {
      found.push({ kind: "absent", first: next, last: first - 1 });
    }
    if (kind !== "end" && last >= next) {
      found.push({ kind, first: Math.max(first, next), last });
    }
    next = Math.max(next, last + 1);
  }
  return found;
}

/** What the certificate promises, in plain words; `good` is null for what is neither good nor bad. */
export function words(certificate, { assumed, activation }) {
  const { covers, tail, input, budget, most } = certificate;
  const said = [
    certificate.fits
      ? [true, `It fits: ${number(input)} of ${number(budget)} tokens of input; ${number(most)} more are kept for the answer.`]
      : [false, `It does not fit: ${number(input)} tokens, and ${number(budget)} may be sent.`],
    covers
      ? [null, `A summary stands for messages ${range(...covers)}.`]
      : [null, "No summary is in this window."],
    !tail
      ? [null, "No earlier message is in this window as it was said."]
      : certificate.contiguous
        ? [true, `Messages ${range(...tail)} are sent as they were said: one run without a gap.`]
        : [false, `Between messages ${range(...tail)} some are missing.`],
    certificate.pairs
      ? [true, "Every tool call has its result, and every result its call."]
      : [false, "A tool call or a result has lost its other half."]
  ];
  if (activation) {
    said.push([null, `A prepared summary would take effect with this request, and is shown so: ${activation}.`]);
  }
  if (assumed?.length) {
    said.push([null, `Assumed, because the request does not say: ${assumed.join(", ")}.`]);
  }
  return said.map(([good, text]) => ({ good, text }));
}

/** Where each message comes from: the blocks name the window's parts in the order of its messages. */
export function origins(roles, blocks, newMessages) {
  const has = (source) => blocks.find((block) => block.source === source);
  const front = ["system_prompt", "summary"].filter(has);
  const back = [...["artifact", "recall"].filter(has), ...Array(newMessages).fill("new")];
  const middle = roles.length - front.length - back.length;
  const sources = [...front, ...Array(Math.max(middle, 0)).fill("history"), ...back].slice(0, roles.length);
  const [first, last] = (/(\d+)-(\d+)$/.exec(has("history")?.origin ?? "") ?? []).slice(1).map(Number);
  const numbered = last - first + 1 === middle;
  return sources.map((source, place) => ({
    source,
    origin: source === "history" && numbered ? `message ${first + place - front.length}` : (has(source)?.origin ?? "")
  }));
}

/** Everything that a message says, as text. */
export function textOf({ content, calls }) {
  const parts = (Array.isArray(content) ? content : [content ?? ""]).map(partText);
  const asked = (Array.isArray(calls) ? calls : []).map((call) => `→ ${call.function?.name ?? call.id}(${call.function?.arguments ?? ""})`);
  return [...parts.filter(Boolean), ...asked].join("\n");
}

function partText(part) {
  return typeof part === "string" ? part : typeof part?.text === "string" ? part.text : JSON.stringify(part, null, 1);
}

export const nameOf = (tool) => tool.function?.name ?? tool.name ?? "a tool without a name";

const CITED = /\[\s*\d{1,9}(?:\s*[,;–-]\s*\d{1,9})*(?:\s?·[^[\]\n]{1,30})?\s*\]/g;

/** A text in pieces: each number that a citation such as `[12]` or `[3, 7–9]` names, and what stands between; `seq` is null there. */
export function cited(text) {
  const found = [];
  let at = 0;
  const keep = (end) => {
    if (end > at) {
      found.push({ said: text.slice(at, end), seq: null });
    }
    at = end;
  };
  for (const citation of text.matchAll(CITED)) {
    const [named] = citation[0].split("·");
    for (const one of named.matchAll(/\d+/g)) {
      keep(citation.index + one.index);
      found.push({ said: one[0], seq: Number(one[0]) });
      at += one[0].length;
    }
  }
  keep(text.length);
  return found;
}

/** Tokens and known price of each day of a range, also of days without a call. */
export function byDay(rows, first, last) {
  const found = [];
  for (let at = Date.parse(first); at <= Date.parse(last); at += 86_400_000) {
    const day = new Date(at).toISOString().slice(0, 10);
    const own = rows.filter((row) => row.day === day);
    const sum = (value) => own.reduce((total, row) => total + (value(row) ?? 0), 0);
    found.push({ day, tokens: sum((row) => row.input + row.output), price: sum((row) => row.price) });
  }
  return found;
}

/** Entries with their place, and the place that words alone would give them. */
export function moves(entries) {
  const words = entries.map((one, at) => ({ at, words: one.words })).sort((one, other) => other.words - one.words || one.at - other.at);
  const byWords = new Map(words.map(({ at }, place) => [at, place + 1]));
  return entries.map((one, at) => ({ ...one, place: at + 1, byWords: byWords.get(at) }));
}
