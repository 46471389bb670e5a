// The names of the API: what the page asks, what it sends and what it reads. Each stands here and nowhere else, as JSON,
// so that a test can hold it against real answers.
export const API = {
  "calls": {
    "sessions": ["GET", "/v1/sessions"],
    "users": ["GET", "/v1/users"],
    "session": ["GET", "/v1/sessions/{session_id}"],
    "turns": ["GET", "/v1/sessions/{session_id}/turns"],
    "context": ["POST", "/v1/sessions/{session_id}/context"],
    "summaries": ["GET", "/v1/sessions/{session_id}/summaries"],
    "usage": ["GET", "/v1/usage"],
    "key": ["GET", "/v1/key"],
    "queue": ["GET", "/v1/work"],
    "artifacts": ["GET", "/v1/sessions/{session_id}/artifacts"],
    "windows": ["GET", "/v1/sessions/{session_id}/windows"],
    "window": ["GET", "/v1/sessions/{session_id}/windows/{window_id}"],
    "catalogs": ["GET", "/v1/catalogs"],
    "priors": ["GET", "/v1/catalogs/{name}/priors"],
    "share": ["GET", "/v1/canary-share"],
    "setShare": ["PUT", "/v1/canary-share"],
    "stopCanary": ["DELETE", "/v1/catalogs/{name}/priors/canary"],
    "startCanary": ["POST", "/v1/catalogs/{name}/priors/canary"],
    "rollBack": ["POST", "/v1/catalogs/{name}/priors/rollback"],
    "rank": ["POST", "/v1/catalogs/{name}/rank"],
    "activate": ["POST", "/v1/sessions/{session_id}/summaries/{version}/activate"],
    "reset": ["POST", "/v1/sessions/{session_id}/reset"],
    "eraseMessage": ["DELETE", "/v1/sessions/{session_id}/messages/{seq}"],
    "eraseSession": ["DELETE", "/v1/sessions/{session_id}"],
    "eraseUser": ["DELETE", "/v1/users/{user_id}"]
  },
  "sends": {
    "model": "model", "window": "context_window", "most": "max_tokens",
    "prompt": "system_prompt", "catalog": "catalog", "messages": "messages",
    "focus": "focus", "attachments": "attachments", "tools": "tools", "look": "dry_run",
    "intent": "intent", "mostEntries": "top_n", "explain": "explain", "version": "version",
    "share": "share"
  },
  "queries": {
    "prefix": "prefix", "user": "user_id", "since": "updated_since", "cursor": "cursor", "first": "from", "last": "to"
  },
  "attachment": { "id": "attachment_id", "text": "content" },
  "reads": {
    "sessions": { "all": "sessions", "next": "next" },
    "listed": {
      "id": "session_id", "turns": "turns", "tokens": "history_tokens", "model": "model", "createdAt": "created_at",
      "lastTurnAt": "last_turn_at"
    },
    "users": { "all": "users", "next": "next" },
    "user": { "id": "user_id" },
    "turns": { "generation": "generation", "all": "turns", "next": "next" },
    "turn": {
      "id": "turn_id", "generation": "generation", "completedAt": "completed_at", "model": "model", "seqs": "seqs",
      "messages": "messages"
    },
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
      "filteredCount": "utilization.tools.filtered_count", "hiddenCount": "utilization.tools.hidden_count",
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
      "createdAt": "created_at", "adds": "adds", "rejected": "rejected_because"
    },
    "usage": {
      "first": "from", "last": "to", "days": "usage", "calls": "total.calls", "price": "total.known_price_usd", "unpriced": "total.unpriced_calls",
      "caps": "caps.tenant"
    },
    "day": {
      "day": "day", "purpose": "purpose", "model": "model", "calls": "calls", "failed": "failed",
      "input": "input_tokens", "cached": "cached_tokens", "output": "output_tokens", "price": "price_usd"
    },
    "cap": { "unit": "unit", "cap": "cap_per_day", "charged": "charged_today" },
    "key": { "id": "key_id", "label": "label", "scopes": "scopes", "endsAt": "expires_at" },
    "queue": { "kinds": "kinds", "all": "work", "more": "more" },
    "kind": {
      "name": "kind", "due": "due", "later": "later", "running": "running", "dead": "dead", "oldestS": "oldest_due_age_s"
    },
    "piece": {
      "kind": "kind", "key": "key", "session": "session_id", "state": "state", "dueAt": "due_at", "attempts": "attempts",
      "crashes": "crashes", "waitsFor": "waits_for", "error": "last_error", "outcome": "last_outcome"
    },
    "artifacts": { "all": "artifacts", "more": "more" },
    "stored": {
      "id": "artifact_id", "type": "artifact_type", "kind": "kind", "title": "title", "chars": "size_chars", "tokens": "tokens",
      "preview": "preview", "uses": "uses", "seq": "last_seq", "usedAt": "last_used_at", "summaries": "summaries"
    },
    "reading": {
      "focus": "focus", "origin": "origin", "state": "state", "model": "model", "method": "method", "text": "text",
      "tokens": "tokens", "rejected": "rejected_because", "readyAt": "ready_at", "uses": "uses"
    },
    "windows": { "all": "windows", "share": "share" },
    "served": {
      "id": "window_id", "call": "call", "at": "served_at", "user": "user_id", "model": "model", "after": "after_seq",
      "tokens": "input_tokens", "budget": "budget", "bytes": "size_bytes", "isWhole": "is_whole"
    },
    "window": { "at": "served_at", "call": "call", "after": "after_seq", "answer": "answer" },
    "priors": { "all": "sets" },
    "set": {
      "version": "version", "state": "state", "reason": "reason", "evidence": "evidence", "drift": "drift", "madeAt": "made_at",
      "since": "activated_at", "until": "ended_at", "canary": "canary"
    },
    "canary": {
      "share": "share", "base": "base", "end": "end", "until": "until", "plans": "new.plans", "fresh": "new.share.share",
      "oldPlans": "in_force.plans", "old": "in_force.share.share"
    },
    "catalogs": { "all": "catalogs" },
    "catalog": {
      "name": "name", "tools": "tools", "pipelines": "pipelines", "tokens": "tokens", "bytes": "bytes", "updatedAt": "updated_at"
    },
    "rank": { "entries": "entries", "set": "prior_set", "hidden": "hidden", "gap": "gap_warning" },
    "ranked": { "id": "id", "kind": "kind", "score": "score", "words": "lexical", "prior": "prior", "reasons": "reasons" },
    "activate": { "all": "summaries" },
    "share": { "share": "share", "source": "source" },
    "setShare": { "share": "share", "source": "source" },
    "startCanary": { "all": "sets" },
    "stopCanary": { "version": "in_force" },
    "rollBack": { "version": "in_force" },
    "reset": { "generation": "generation" },
    "eraseMessage": { "removed": "removed", "invalidated": "invalidated" },
    "eraseSession": { "removed": "removed", "invalidated": "invalidated" },
    "eraseUser": { "removed": "removed", "invalidated": "invalidated", "left": "remaining_sessions" },
    "problem": { "title": "title", "detail": "detail" }
  }
};
