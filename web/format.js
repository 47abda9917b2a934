// Numbers and times as the page shows them.

export function count(value) {
  return value.toLocaleString("en-US");
}

export function seconds(value) {
  if (value === null) return "";
  return value < 1 ? `${(value * 1000).toPrecision(3)} ms` : `${value.toPrecision(3)} s`;
}

// 3.1e15 -> "3.1 PFLOP/s".
export function flops(value) {
  if (value === null) return "";
  const units = ["", "k", "M", "G", "T", "P", "E"];
  let unit = 0;
  while (value >= 1000 && unit + 1 < units.length) {
    value /= 1000;
    ++unit;
  }
  return `${value.toPrecision(3)} ${units[unit]}FLOP/s`;
}

// Bytes per second as people say link speeds.
export function speed(value) {
  const megabits = (value * 8) / 1e6;
  return megabits < 1000 ? `${megabits.toPrecision(3)} Mb/s` : `${(megabits / 1000).toPrecision(3)} Gb/s`;
}

export function time(value) {
  return value === null ? "" : new Date(value * 1000).toLocaleTimeString();
}
