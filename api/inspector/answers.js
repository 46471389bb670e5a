// What the page asks of the API and what it reads of the answers. Every name of the API is here and nowhere else,
// as JSON, so that a test can hold it against real answers.
export const API = {
  "calls": {
    "session": ["GET", "/v1/sessions/{session_id}"],
    "context": ["POST", "/v1/sessions/{session_id}/context"],
    "summaries": ["GET", "/v1/sessions/{session_id}/summaries"],
    "usage": ["GET", "/v1/usage"]
  },
  "sends": {
    "model": "model", "window": "context_window", "most": "max_tokens",
    "prompt": "system_prompt", "catalog": "catalog", "messages": "messages",
    "focus": "focus", "attachments": "attachments", "tools": "tools", "look": "dry_run"
  },
  "attachment": { "id": "attachment_id", "text": "content" },
  "reads": {
    "session": {
      "generation": "generation", "turns": "turns", "lastTurnAt": "last_turn_at", "model": "model",
      "window": "context_window", "history": "tokens.history", "raw": "tokens.raw",
      "summarized": "tokens.summarized", "summary": "tokens.summary", "prompt": "tokens.system_prompt",
      "tools": "tokens.tools", "lastSeq": "freshness.last_seq", "through": "freshness.summarized_through",
      "pending": "freshness.pending", "ageS": "freshness.oldest_due_age_s", "work": "due_work",
      "restsUntil": "breaker.open_until", "restReason": "breaker.reason", "errors": "last_errors"
    },
    "work": {
      "kind": "kind", "state": "state", "dueAt": "due_at", "attempts": "attempts", "crashes": "crashes",
      "outcome": "last_outcome", "error": "last_error"
    },
    "context": {
      "messages": "messages", "tools": "tools", "certificate": "certificate", "lastSeq": "freshness.last_seq",
      "assumed": "utilization.assumed", "activation": "utilization.cache.activation",
      "filtered": "utilization.tools.filtered", "hidden": "utilization.tools.hidden",
      "artifacts": "utilization.artifacts_processed", "byModel": "utilization.llm_planning_used",
      "byRule": "utilization.planning_fallback"
    },
    "artifact": {
      "source": "source", "chars": "original_size_chars", "how": "how", "tokens": "tokens", "near": "similarity",
      "other": "other_summarizer", "reason": "reason"
    },
    "certificate": {
      "fits": "fits", "input": "input_tokens", "budget": "budget", "window": "context_window", "most": "max_tokens",
      "covers": "summary_covers", "tail": "tail", "contiguous": "tail_contiguous", "pairs": "tool_pairs_intact",
      "blocks": "blocks", "excluded": "excluded", "repairs": "repairs", "losses": "losses"
    },
    "block": { "source": "source", "tokens": "tokens", "origin": "origin", "trust": "trust" },
    "exclusion": { "what": "what", "why": "why", "tokens": "tokens" },
    "loss": { "kind": "kind", "why": "why", "seqs": "seqs" },
    "message": { "role": "role", "content": "content", "calls": "tool_calls", "answers": "tool_call_id" },
    "summaries": { "all": "summaries" },
    "summary": {
      "version": "version", "state": "state", "from": "from_seq", "to": "to_seq", "base": "base_version",
      "text": "text", "tokens": "tokens", "covered": "covered_tokens", "model": "model", "method": "method",
      "createdAt": "created_at", "rejected": "rejected_because"
    },
    "usage": {
      "days": "usage", "calls": "total.calls", "price": "total.known_price_usd", "unpriced": "total.unpriced_calls",
      "caps": "caps.tenant"
    },
    "day": {
      "day": "day", "purpose": "purpose", "model": "model", "calls": "calls", "failed": "failed",
      "input": "input_tokens", "cached": "cached_tokens", "output": "output_tokens", "price": "price_usd"
    },
    "cap": { "unit": "unit", "cap": "cap_per_day", "charged": "charged_today" },
    "problem": { "title": "title", "detail": "detail" }
  }
};

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
  return Object.fromEntries(Object.entries(API.reads[kind]).map(([ours, theirs]) => [ours, at(theirs)]));
}

export const readAll = (kind, answers) => (answers ?? []).map((answer) => read(kind, answer));

/** A request's body under the API's names, without what is blank. */
export function write(given) {
  const named = Object.entries(given).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return Object.fromEntries(named.map(([ours, value]) => [API.sends[ours], value]));
}

/** Make one call and read its answer. Throws a Refusal that says what a person should know. */
export async function ask(call, { key, session, body, signal }) {
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new Refusal(401, "Not a key", "A key has letters, digits and underscores; look for a stray character.", {});
  }
  const [method, template] = API.calls[call];
  const address = template.slice(1).replace("{session_id}", () => encodeURIComponent(session ?? ""));
  const headers = { Authorization: `Bearer ${key}`, Accept: "application/json" };
  const options = { method, headers, signal, cache: "no-store", credentials: "omit", redirect: "error" };
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
    return [answer, await answer.text()];
  } catch (error) {
    if (error.name === "AbortError") {
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
