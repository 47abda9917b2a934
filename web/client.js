// What the controller is asked and told over HTTP.

const PATIENCE_MS = 30000;
const PERIOD_MS = 2000;
// A list that is slow to come is asked for less often: at most this share of the time goes to it.
const SHARE_MAX = 0.1;
// A controller that has no such list may get one when it is upgraded.
const MISSING_MS = 60000;

// The controller's answer to a request that it does not carry out.
export class Refusal extends Error {
  constructor(path, status, message) {
    super(message || `${path}: answered with status ${status}`);
    this.status = status;
  }
}

// Kept for this tab only.
export const token = () => sessionStorage.getItem("token") ?? "";
export const keepToken = (text) => sessionStorage.setItem("token", text);

async function send(path, options, tokenText) {
  const headers = { ...options.headers, ...(tokenText ? { Authorization: `Bearer ${tokenText}` } : {}) };
  const answer = await fetch(path, { ...options, headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  if (answer.ok) return answer.json();
  const text = await answer.text();
  let message = "";
  try {
    message = String(JSON.parse(text).error ?? "");
  } catch {
    // Not the controller's: a proxy's page, say.
  }
  throw new Refusal(path, answer.status, message);
}

// Returns: the answer. Errors: Refusal; others where there is no answer, and then it is not known whether it was carried out.
export function order(path, body, tokenText) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return send(path, options, tokenText);
}

// A list that is asked for again and again.
export class Feed {
  #path;
  #take;
  #dueMs = 0;
  value = null;

  // Args: take: what to keep of an answer.
  constructor(path, take) {
    this.#path = path;
    this.#take = take;
  }

  hurry() {
    this.#dueMs = 0;
  }

  // Asks if it is time. Errors: as of `order`; the value stays what it was.
  async refresh() {
    const start = performance.now();
    if (start < this.#dueMs) return;
    try {
      this.value = this.#take(await send(this.#path, {}, token()));
      const end = performance.now();
      this.#dueMs = Math.max(start + PERIOD_MS * 0.9, end + (end - start) / SHARE_MAX - PERIOD_MS);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 404) throw error;
      this.value = null;
      this.#dueMs = start + MISSING_MS;
    }
  }
}
