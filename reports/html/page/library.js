// SPDX-License-Identifier: Apache-2.0
// The chart library stands in the page compressed, a third of its size. Whoever draws waits for `libraryReady`.
"use strict";
window.libraryReady = (async () => {
  const octets = Uint8Array.from(atob(document.getElementById("library").textContent), (letter) => letter.charCodeAt(0));
  const script = document.createElement("script");
  script.textContent = await new Response(new Blob([octets]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  document.head.append(script);
})();
