// What the controller is asked and told over HTTP.

const PATIENCE_MS = 30000;
const PERIOD_MS = 2000;
// A list that is slow to come is asked for less often: at most this share of the time goes to it.
const SHARE_MAX = 0.1;
// A controller that has no such list may get one when it is upgraded.
const MISSING_MS = 60000;
// What the controller tells of changes need not be asked for; now and then it is all the same.
const TOLD_MS = 60000;
const RETRY_MS = 10000;
const SILENT_MS = 8000;

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

// Saves an answer as a file, which a link could not: it would come without the token. Errors: as of `order`.
export async function save(path, fileName) {
  const answer = await send(path, {}, token());
  const address = URL.createObjectURL(new Blob([JSON.stringify(answer)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// What the controller tells as it comes: names of lists that have changed. Where it can't be listened to, nothing is lost: lists are asked
// for by themselves.
export class News {
  #onChange;
  #controller = null;
  heardMs = 0;
  isOpen = false;

  // Args: onChange(names): called with each sign of life, as a rule with an empty list.
  constructor(onChange) {
    this.#onChange = onChange;
  }

  // Listens until `close`, and again and again where it is cut off.
  async listen() {
    if (this.#controller) return;
    const own = new AbortController();
    this.#controller = own;
    while (!own.signal.aborted) {
      let isStream = true;
      try {
        isStream = await this.#read(own.signal);
      } catch {
        // Away, or refused.
      }
      this.isOpen = false;
      await new Promise((resolve) => setTimeout(resolve, isStream ? RETRY_MS : MISSING_MS));
    }
  }

  close() {
    this.#controller?.abort();
    this.#controller = null;
    this.isOpen = false;
  }

  // Whether it can be relied on: a stream that says nothing is none.
  isFresh() {
    return this.isOpen && performance.now() - this.heardMs < SILENT_MS;
  }

  // Until it ends. Returns whether it was a stream at all.
  async #read(signal) {
    const headers = { Accept: "text/event-stream", ...(token() ? { Authorization: `Bearer ${token()}` } : {}) };
    const answer = await fetch("/v1/events", { headers, cache: "no-store", signal });
    if (!answer.ok || !answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      await answer.body?.cancel();
      return answer.status === 401;
    }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (true) {
      const { value, done } = await reader.read();
      if (done) return true;
      text += value;
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) this.#take(block);
    }
  }

  #take(block) {
    const field = (name) => block.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    if (field("event") !== "changed") return;
    this.isOpen = true;
    this.heardMs = performance.now();
    this.#onChange(JSON.parse(field("data") ?? "[]"));
  }
}

// A list that is asked for again and again.
export class Feed {
  #path;
  #take;
  #periodMs;
  #dueMs = 0;
  value = null;
  // The controller has answered that there is no such thing.
  isMissing = false;

  // Args: take: what to keep of an answer; periodMs: between two requests at least.
  constructor(path, take, periodMs = PERIOD_MS) {
    this.#path = path;
    this.#take = take;
    this.#periodMs = periodMs;
  }

  get path() {
    return this.#path;
  }

  hurry() {
    this.#dueMs = 0;
  }

  // Asks if it is time. Args: isTold: the controller says when it changes. Errors: as of `order`; the value stays what it was.
  async refresh(isTold = false) {
    const start = performance.now();
    if (start < this.#dueMs) return;
    const period = isTold ? Math.max(TOLD_MS, this.#periodMs) : this.#periodMs;
    try {
      this.value = this.#take(await send(this.#path, {}, token()));
      this.isMissing = false;
      const end = performance.now();
      this.#dueMs = Math.max(start + period * 0.9, end + (end - start) / SHARE_MAX - PERIOD_MS);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 404) throw error;
      this.value = null;
      this.isMissing = true;
      this.#dueMs = start + MISSING_MS;
    }
  }
}
