// Why a job has its level, in plain words: of Crux's numbers what they mean for the job (src/traffic/crux/crux_policy.cc writes them).
import { counted, flop, flops, seconds } from "./format.js";

const number = "([-+0-9.e]+)";
const INTENSITY = new RegExp(`^intensity ${number} FLOP/s \\(${number} FLOP per ${number} s on (.+?)\\)(?=, correction)`);
const COMPARED = new RegExp(`correction factor ${number} \\(d_r ${number} s, d_j ${number} s against job (\\d+)\\)`);
const FAIRNESS = new RegExp(`${number} % of its speed lost: priority ${number} FLOP/s at fairness`);
const RANK = /rank (\d+) of (\d+), level (\d+) of (\d+)/;
const LIFTED = new RegExp(`lifted (\\d+) levels: ${number} s behind`);
const PATHS = /; (\d+) new paths|; (\d+) of (\d+) paths changed/;
const CUT_OFF = /; (\d+) flows cut off/;

function factorText(reason) {
  const found = COMPARED.exec(reason);
  if (found) {
    return `Measured against another job it counts ${Number(found[1])} times: the other would finish ${seconds(Number(found[2]))} sooner ` +
      `by going first, this one ${seconds(Number(found[3]))}.`;
  }
  if (reason.includes("(reference job)")) return "The other jobs are measured against it.";
  if (reason.includes("(iterations not seen)")) return "Its iterations have not been seen yet, so this number is not corrected.";
  return "";
}

// Args: reason: as the controller gives it. Returns: sentences; none where it is not of a known form.
export function plainReason(reason) {
  const intensity = INTENSITY.exec(reason);
  const rank = RANK.exec(reason);
  if (!intensity || !rank) return [];
  const [, perSecond, work, duration, link] = intensity;
  const sentences = [
    `Of ${rank[2]} jobs on the network it is number ${Number(rank[1]) + 1} in importance, and got level ${rank[3]} of ${rank[4]}; level 0 goes first.`,
    `An iteration computes ${flop(Number(work))} and keeps ${link} busy for ${seconds(Number(duration))}: ` +
      `${flops(Number(perSecond))} for each second on the network. Jobs that compute most for it go first.`,
    factorText(reason),
  ];
  const fairness = FAIRNESS.exec(reason);
  if (fairness) sentences.push(`It has lost ${Number(fairness[1])} % of its speed, which raises it to ${flops(Number(fairness[2]))}.`);
  const lifted = LIFTED.exec(reason);
  if (lifted) sentences.push(`It was raised by ${counted(Number(lifted[1]), "level")}: it had been held up for ${seconds(Number(lifted[2]))}.`);
  const paths = PATHS.exec(reason);
  if (paths?.[1]) sentences.push(`It got ${counted(Number(paths[1]), "new path")}.`);
  if (paths?.[2]) sentences.push(`${paths[2]} of its ${paths[3]} paths were changed.`);
  const cutOff = CUT_OFF.exec(reason);
  if (cutOff) sentences.push(`${counted(Number(cutOff[1]), "flow")} cannot get through: links on every path are down.`);
  return sentences.filter(Boolean);
}
