// SPDX-License-Identifier: Apache-2.0
// Draws the chart of a leaderboard in the page's theme.
"use strict";
(async () => {
  const {specification, themes} = await jsonOf("data");
  await window.libraryReady;
  const embed = window.vegaEmbed && (window.vegaEmbed.embed || window.vegaEmbed);
  if (!embed) return;
  const colours = () => getComputedStyle(root);
  const draw = () => {
    const spec = structuredClone(specification);
    const verdicts = ["--good", "--bad", "--warn"].map((name) => colours().getPropertyValue(name).trim());
    for (const layer of spec.layer) if (layer.encoding.color) layer.encoding.color.scale.range = verdicts;
    return embed("#picture", spec, {mode: "vega-lite", ast: true, actions: false, defaultStyle: false, logLevel: 1, renderer: "svg", config: themes[isDark() ? "dark" : "light"]}).catch((error) => trouble("chart: " + error));
  };
  themeListeners.push(draw);
  draw();
})();
