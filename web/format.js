// Numbers and times as the page shows them. What is not known is "–".

export const UNKNOWN = "–";

const isKnown = (value) => value !== null && value !== undefined && Number.isFinite(value);

export function count(value) {
  return isKnown(value) ? value.toLocaleString("en-US") : UNKNOWN;
}

// count(2, "job") -> "2 jobs".
export function counted(value, what, several = `${what}s`) {
  return `${count(value)} ${value === 1 ? what : several}`;
}

export function seconds(value) {
  if (!isKnown(value)) return UNKNOWN;
  return value < 1 ? `${Number((value * 1000).toPrecision(3))} ms` : `${Number(value.toPrecision(3))} s`;
}

// A span of time as people say it: "40 s", "3 min", "2 h", "5 days".
export function span(value) {
  if (!isKnown(value)) return UNKNOWN;
  if (value < 100) return `${Math.max(0, Math.round(value))} s`;
  if (value < 6000) return `${Math.round(value / 60)} min`;
  return value < 2 * 86400 ? `${Math.round(value / 3600)} h` : `${Math.round(value / 86400)} days`;
}

// GPUs' worth of time: one digit after the point.
export function gpus(value) {
  return isKnown(value) ? value.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 }) : UNKNOWN;
}

export function times(value) {
  return isKnown(value) && value > 0 ? `${value.toFixed(2)}×` : UNKNOWN;
}

export function percent(value) {
  return isKnown(value) ? `${Math.round(value * 100)} %` : UNKNOWN;
}

// 3.1e15 -> "3.1 P": short, with the letter of the power.
function short(value) {
  const units = ["", "k", "M", "G", "T", "P", "E", "Z"];
  let unit = 0;
  while (value >= 1000 && unit + 1 < units.length) {
    value /= 1000;
    ++unit;
  }
  return `${Number(value.toPrecision(3))} ${units[unit]}`;
}

export function flops(value) {
  return isKnown(value) ? `${short(value)}FLOP/s` : UNKNOWN;
}

export function flop(value) {
  return isKnown(value) ? `${short(value)}FLOP` : UNKNOWN;
}

// Bytes per second as people say link speeds.
export function speed(value) {
  if (!isKnown(value)) return UNKNOWN;
  const megabits = (value * 8) / 1e6;
  return megabits < 1000 ? `${Number(megabits.toPrecision(3))} Mb/s` : `${Number((megabits / 1000).toPrecision(3))} Gb/s`;
}

// With the day where it is another one than today.
export function time(value) {
  if (!isKnown(value)) return UNKNOWN;
  const moment = new Date(value * 1000);
  const isToday = moment.toDateString() === new Date().toDateString();
  return isToday ? moment.toLocaleTimeString() : `${moment.toLocaleDateString()} ${moment.toLocaleTimeString()}`;
}

// "leaf2" before "leaf10".
export const byName = new Intl.Collator("en", { numeric: true }).compare;

// "in_doubt" -> "in doubt".
export function words(name) {
  return name.replaceAll("_", " ");
}
