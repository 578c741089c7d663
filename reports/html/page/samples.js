// SPDX-License-Identifier: Apache-2.0
// The samples of points: packed in the page, read only when the first point is opened.
"use strict";
let packedSamples = null;

/** What the chart of samples shows of a point, or null: data sets, how many there are, how many the page carries. */
function samplesOf(row) {
  if (!packedSamples) packedSamples = JSON.parse(byId("samples").textContent);
  const entry = packedSamples[row.id];
  if (!entry) return null;
  const [least, most, all, sizes, text] = entry;
  const octets = atob(text);
  const samples = [];
  for (let i = 0; 2 * i + 1 < octets.length; ++i) {
    const step = octets.charCodeAt(2 * i) | octets.charCodeAt(2 * i + 1) << 8;
    const value = least + (most - least) * step / 65535;
    samples.push({index: i + 1, seconds: value, text: seconds(value, 5)});
  }
  const blocks = [];
  let from = 0;
  for (const size of sizes.slice(0, -1)) {
    from += size;
    if (from < samples.length) blocks.push({block_from: from + 0.5});
  }
  const summary = [{median: row.seconds, low: row.low, high: row.high, text: "median " + seconds(row.seconds, 5)}];
  return {sets: {samples, blocks, summary}, all, carried: samples.length};
}
