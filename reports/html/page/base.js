// SPDX-License-Identifier: Apache-2.0
// The run's data, and what a report says of its points.
"use strict";
/** The bytes of a gzip member without optional fields (RFC 1951 and 1952), at once: DecompressionStream makes one wait. */
function unzip(data) {
  const out = new Uint8Array(new DataView(data.buffer).getUint32(data.length - 4, true));
  let place = 10, bits = 0, held = 0, at = 0;
  const take = (count) => {
    for (; held < count; held += 8) bits |= data[place++] << held;
    const value = bits & ((1 << count) - 1);
    bits >>>= count;
    held -= count;
    return value;
  };
  /** By the next 15 bits: a symbol and, in the low four bits, how many of them it takes. */
  const tableOf = (lengths) => {
    const next = new Uint16Array(17), table = new Uint16Array(1 << 15);
    for (const length of lengths) if (length) ++next[length + 1];
    for (let length = 1; length < 17; ++length) next[length] = (next[length - 1] << 1) + (next[length] << 1);
    lengths.forEach((length, symbol) => {
      if (!length) return;
      let reversed = 0;
      for (let i = 0, code = next[length]++; i < length; ++i, code >>= 1) reversed = reversed << 1 | (code & 1);
      for (let i = reversed; i < table.length; i += 1 << length) table[i] = symbol << 4 | length;
    });
    return table;
  };
  const symbol = (table) => {
    for (; held < 15; held += 8) bits |= data[place++] << held;
    const entry = table[bits & 32767], length = entry & 15;
    bits >>>= length;
    held -= length;
    return entry >> 4;
  };
  const order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  const repeated = (count, value) => new Array(count).fill(value);
  let last = 0;
  while (!last) {
    last = take(1);
    const kind = take(2);
    if (kind === 0) {  // as it is, from the next whole byte on
      place -= held >> 3;
      bits = held = 0;
      const length = data[place] | data[place + 1] << 8;
      out.set(data.subarray(place + 4, place + 4 + length), at);
      place += 4 + length;
      at += length;
      continue;
    }
    let literals, distances;
    if (kind === 1) {
      literals = tableOf([...repeated(144, 8), ...repeated(112, 9), ...repeated(24, 7), ...repeated(8, 8)]);
      distances = tableOf(repeated(30, 5));
    } else {
      const count = take(5) + 257, far = take(5) + 1, coded = take(4) + 4, lengths = repeated(19, 0), all = [];
      for (let i = 0; i < coded; ++i) lengths[order[i]] = take(3);
      const table = tableOf(lengths);
      while (all.length < count + far) {
        const code = symbol(table);
        if (code < 16) all.push(code);
        else if (code === 16) all.push(...repeated(take(2) + 3, all.at(-1)));
        else all.push(...repeated(code === 17 ? take(3) + 3 : take(7) + 11, 0));
      }
      literals = tableOf(all.slice(0, count));
      distances = tableOf(all.slice(count));
    }
    for (;;) {
      const code = symbol(literals);
      if (code < 256) { out[at++] = code; continue; }
      if (code === 256) break;
      const row = code - 257, extra = row < 8 || row === 28 ? 0 : (row >> 2) - 1;
      const length = row === 28 ? 258 : (extra ? (4 + (row & 3) << extra) : row) + 3 + take(extra);
      const far = symbol(distances), more = far < 4 ? 0 : (far >> 1) - 1;
      const distance = (more ? (2 + (far & 1) << more) : far) + 1 + take(more);
      for (const end = at + length; at < end; ++at) out[at] = out[at - distance];
    }
  }
  return out;
}
const packed = byId("data");
const report = JSON.parse(packed.type === "application/json" ? packed.textContent
  : new TextDecoder().decode(unzip(Uint8Array.from(atob(packed.textContent), (c) => c.charCodeAt(0)))));
/** The points come as columns; a text is [its number], other lists hold lists. */
const points = Array.from({length: report.points.count}, () => ({}));
for (const [key, column] of Object.entries(report.points.columns))
  column.forEach((value, i) => {
    if (value !== null) points[i][key] = Array.isArray(value) && typeof value[0] === "number" ? report.points.texts[value[0]] : value;
  });
report.datasets.points = points;
const regimeNames = report.regimes;
const regimesHere = regimeNames.filter((name) => points.some((row) => row.regime === name));
const shownRegimes = new Set(regimesHere);

function sign(regime) {
  const svg = byId("sign").content.firstElementChild.cloneNode(true);
  const name = regimeNames.includes(regime) ? regime : "unknown";
  svg.classList.add(name);
  svg.firstElementChild.setAttribute("href", "#sign-" + name);
  return svg;
}

/** A confidence is never quite 1. */
const confidence = (value) => value > 0.99 ? ">99 %" : percent(value);
/** Half the interval over the median. */
const spread = (row) => row.samples >= 6 && row.seconds > 0 ? (row.high - row.low) / 2 / row.seconds : undefined;

/** A counter's value in its unit. */
function quantity(value, unit) {
  if (!Number.isFinite(value)) return "";
  if (unit === "bytes") return withPrefix(value, "B", 4);
  if (unit === "Hz" || unit === "FLOP") return withPrefix(value, unit, 4);
  return (Math.abs(value) < 1000 ? digits(value) : count(Math.round(value))) + " " + unit;
}

/** Everything known about a point as [name, text, wide]; what is not known is left out. */
function facts(row) {
  const list = [["run", row.run], ["time, median", seconds(row.seconds, 4)], ["not steady", row.course], ["at first", seconds(row.at_first, 4)], ["sustained", seconds(row.sustained, 4)], ["on device", seconds(row.on_device, 4)], ["95 % interval", row.seconds && !row.course ? seconds(row.low, 4) + " to " + seconds(row.high, 4) : ""],
    ["limiter", row.limiter], ["of ceiling", row.of_ceiling],
    ["confidence", row.confidence === undefined ? "" : confidence(row.confidence) + " (" + row.certainty + ")"], ["runner-up", row.runner_up],
    ["model", seconds(row.model, 4)], ["bandwidth", withPrefix(row.bytes_per_second, "B/s")], ["speed", withPrefix(row.flops_per_second, "FLOP/s")],
    ["intensity", row.intensity === undefined ? "" : digits(row.intensity) + " FLOP/byte"], ["working set", bytes(row.working_set)],
    ["reads", bytes(row.read)], ["writes", bytes(row.written)], ["pipes", row.pipes],
    ["quartiles", row.seconds ? seconds(row.lower_quartile) + " to " + seconds(row.upper_quartile) : ""],
    ["extremes", row.seconds ? seconds(row.minimum) + " to " + seconds(row.maximum) : ""], ["MAD", seconds(row.mad)],
    ["samples", row.samples ? count(row.samples) + " x " + count(row.executions) + (row.blocks ? " in " + count(row.blocks) + " blocks" : "") + ", stopped by " + row.stop : ""],
    ["dropped samples", row.dropped ? count(row.dropped) + ", under a throttled clock" : ""], ["host's launch", seconds(row.launch, 4)],
    ["launches", row.launches],
    ["device clock", withPrefix(row.clock_hz, "Hz") + (row.held ? " (" + row.held + ")" : "")], ["cache", row.cache], ["result checked", row.seconds ? (row.verified ? "yes" : "no") : ""],
    ["time goes to", (row.shares || []).map(([name, part]) => name + " " + percent(part)).join(", "), true],
    ["advice", row.advice, true], ["checks", row.checks, true],
    ["counted", (row.counters || []).map(([name, value, unit]) => name + " " + quantity(value, unit)).join(", "), true],
    ["counted work", row.work_differences, true], ["not counted", row.not_counted, true], ["counted by", row.counted_by],
    ["activity records", row.activity, true], ["kernels", row.kernels, true],
    ["time of each kernel", row.kernel_times, true], ["kernels not counted", row.kernels_not_counted, true],
    ["clock read by", row.clock_hz_source, true], ["conditions", row.conditions, true],
    ["timed by", [row.clock, row.method].filter(Boolean).join(": "), true],
    ...(row.other_clocks || []).map(([clock, text]) => ["time by " + clock, text, true])];
  return list.filter(([, text]) => text);
}
const regimeListeners = [];
/** Chips stand wherever they act, and are alike everywhere. */
const chips = [];
for (const name of regimesHere) {
  const number = points.filter((row) => row.regime === name).length;
  for (const box of document.querySelectorAll(".regimes")) {
    const chip = make("button", {type: "button", class: "chip"}, sign(name), name + " " + count(number));
    chip.addEventListener("click", () => {
      if (!shownRegimes.delete(name)) shownRegimes.add(name);
      for (const listener of regimeListeners) listener();
    });
    chips.push([chip, name]);
    box.append(chip);
  }
}
regimeListeners.push(() => { for (const [chip, name] of chips) chip.setAttribute("aria-pressed", String(shownRegimes.has(name))); });
regimeListeners[0]();
