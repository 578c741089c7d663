// SPDX-License-Identifier: Apache-2.0
// The timeline of a profiled program: stretches, of one or several slices each.
"use strict";
ready.then(() => {
  if (!report.program || !document.querySelector("#timeline canvas")) return;
  const {wall, tracks, names, kinds} = report.program;
  timelineView(byId("timeline"), {wall, rows: tracks.map((track) => ({
    label: track.name, starts: track.starts, ends: track.starts.map((start, i) => start + track.lengths[i]), kind: (i) => kinds[track.kinds[i]],
    name: (i) => track.names[i] < 0 ? "several, " + kinds[track.kinds[i]] + " mostly" : names[track.names[i]]}))});
});
