// SPDX-License-Identifier: Apache-2.0
// The run's data, and what a report says of its points.
"use strict";
let report, points, regimeNames, regimesHere, shownRegimes;
const regimeListeners = [];

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
  const list = [["run", row.run], ["time, median", seconds(row.seconds, 4)], ["not steady", row.course], ["at first", seconds(row.at_first, 4)], ["sustained", seconds(row.sustained, 4)], ["as called", seconds(row.as_called, 4)], ["on device", seconds(row.on_device, 4)], ["95 % interval", row.seconds && !row.course ? seconds(row.low, 4) + " to " + seconds(row.high, 4) : ""],
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

/** When the data are there: compressed ones take a moment. */
const ready = (async () => {
  report = await jsonOf("data");
  // The points come as columns; a text is [its number], a list [the number of its shape, its numbers].
  const filled = (shape, numbers) => Array.isArray(shape) ? shape.map((each) => filled(each, numbers)) : shape ?? numbers.shift();
  points = Array.from({length: report.points.count}, (_, id) => ({id}));
  for (const [key, column] of Object.entries(report.points.columns))
    column.forEach((value, i) => {
      if (value !== null) points[i][key] = Array.isArray(value) ? filled(report.points.texts[value[0]], value[1]) : value;
    });
  report.datasets.points = points;
  regimeNames = report.regimes;
  regimesHere = regimeNames.filter((name) => points.some((row) => row.regime === name));
  shownRegimes = new Set(regimesHere);
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
})();
