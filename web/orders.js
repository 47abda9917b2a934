// Orders to the controller's steering: what is to happen is said first, then confirmed, sent once, and answered.
import { order, token, keepToken, Refusal } from "./client.js";

const byId = (id) => document.getElementById(id);
let wanted = null;
let isSending = false;
let onDone = () => {};

function show({ isOver, text, kind }) {
  byId("order-send").hidden = isOver;
  byId("order-close").textContent = isOver ? "Close" : "Cancel";
  byId("order-answer").textContent = text;
  byId("order-answer").className = kind;
}

// Args: what: {title, text, path, makeBody(fields), asksTime: whether for how long and why}.
function confirm(what) {
  if (isSending) return;
  wanted = what;
  byId("order-title").textContent = what.title;
  byId("order-text").textContent = what.text;
  byId("order-time").hidden = !what.asksTime;
  byId("order-reason-label").hidden = !what.asksReason;
  byId("order-reason").required = Boolean(what.asksReason);
  byId("order-reason").value = "";
  byId("order-minutes").disabled = !what.asksTime;
  byId("order-token-label").hidden = true;
  byId("order-token").value = "";
  byId("order-send").disabled = false;
  byId("order-send").textContent = what.title;
  show({ isOver: false, text: "", kind: "" });
  byId("order").showModal();
  (what.asksReason ? byId("order-reason") : byId("order-close")).focus();
}

function explain(error) {
  if (!(error instanceof Refusal)) {
    return `⚠ No answer (${error.message}): it may have been carried out or not. Look at the page before you try again.`;
  }
  if (error.status === 401) return "⚠ Not done: this needs the token of an operator.";
  if (error.status === 403) return `⚠ Not done: ${token() ? "your token may only look" : "without a token you may only look"}. This needs the token of an operator.`;
  return `⚠ Not done: ${error.message}`;
}

async function sendOrder(event) {
  event.preventDefault();
  if (isSending || wanted === null || byId("order-send").hidden) return;
  isSending = true;
  byId("order-send").disabled = true;
  byId("order-close").disabled = true;
  show({ isOver: false, text: "sent; waiting for the answer …", kind: "" });
  const given = byId("order-token").value.trim();
  try {
    const fields = { seconds: Number(byId("order-minutes").value) * 60, reason: byId("order-reason").value.trim() };
    await order(wanted.path, wanted.makeBody(fields), given || token());
    if (given) keepToken(given);
    show({ isOver: true, text: `✓ Done: ${wanted.done}`, kind: "good" });
    wanted = null;
    onDone();
  } catch (error) {
    const needsToken = error instanceof Refusal && (error.status === 401 || error.status === 403);
    // Whether it was carried out is not known: not to be sent again from here.
    show({ isOver: !(error instanceof Refusal), text: explain(error), kind: "bad" });
    if (!(error instanceof Refusal)) wanted = null;
    byId("order-token-label").hidden = !needsToken;
    if (needsToken) byId("order-token").focus();
  } finally {
    isSending = false;
    byId("order-send").disabled = false;
    byId("order-close").disabled = false;
    if (byId("order-token-label").hidden) byId("order-close").focus();
  }
}

// Args: whenDone: called after each order that was carried out.
export function startOrders(whenDone) {
  onDone = whenDone;
  byId("order-form").addEventListener("submit", sendOrder);
  byId("order-close").addEventListener("click", () => byId("order").close());
  byId("order").addEventListener("cancel", (event) => {
    if (isSending) event.preventDefault();
  });
}

export function undo(host) {
  confirm({
    title: `Return host ${host}`,
    text: `The isolation of ${host} is taken back: it may be given to jobs again. If it is still broken, jobs will fail on it.`,
    path: "/v1/steering/undo",
    makeBody: () => ({ host }),
    done: `${host} will be returned.`,
  });
}

export function offerSpare(host) {
  confirm({
    title: `Offer ${host} as a spare`,
    text: `${host} is offered in place of hosts that are isolated: a job may be restarted on it. It should be free and healthy.`,
    path: "/v1/steering/spare",
    makeBody: () => ({ host }),
    done: `${host} is now a spare.`,
  });
}

export function pause(job) {
  confirm({
    title: `Pause steering of ${job}`,
    text: `Findings about ${job} are shown, but nothing is done about them for this time. The job itself runs on.`,
    path: "/v1/steering/pause",
    makeBody: ({ seconds, reason }) => ({ job, for_s: seconds, reason }),
    asksTime: true,
    asksReason: true,
    done: `nothing is done about ${job} for that time.`,
  });
}

export function endPause(job) {
  confirm({
    title: `End the pause of ${job}`,
    text: `Findings about ${job} are acted on again.`,
    path: "/v1/steering/pause",
    makeBody: ({ reason }) => ({ job, for_s: 0, reason }),
    asksReason: true,
    done: `the pause of ${job} is over.`,
  });
}
