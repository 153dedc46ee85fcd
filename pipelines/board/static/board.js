"use strict";
// The server renders; this asks for the live page again, and draws lines. Nothing is made of text here.
const TICK_MS = 2000;
const dark = matchMedia("(prefers-color-scheme: dark)");
const offline = document.getElementById("offline");
let isPaused = false;

// Hours, minutes and seconds, UTC.
const clock = (seconds) => new Date(seconds * 1e3).toISOString().slice(11, 19);

function draw() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  for (const figure of document.querySelectorAll(".chart")) {
    figure.querySelectorAll(".uplot").forEach((drawn) => drawn.remove());
    const points = JSON.parse(figure.dataset.points);
    if (!points[0].length) continue;
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 0.3 }, ticks: { show: false } };
    new uPlot({
      width: figure.clientWidth, height: 140, legend: { show: false }, cursor: { show: false },
      scales: { y: { range: (_, low, high) => [0, Math.max(high, 1)] } },
      axes: [{ ...axis, space: 80, values: (_, moments) => moments.map(clock) }, { ...axis, size: 60 }],
      series: [{}, { stroke: colour("--accent"), width: 1.5, points: { show: points[0].length === 1 } }],
    }, points, figure);
  }
}

function pause() {
  const button = document.getElementById("pause");
  if (!button) return;
  button.hidden = false;
  button.setAttribute("aria-pressed", String(isPaused));
  button.onclick = () => { isPaused = !isPaused; button.setAttribute("aria-pressed", String(isPaused)); };
}

document.body.addEventListener("htmx:afterSettle", () => { offline.hidden = true; pause(); draw(); });
for (const kind of ["htmx:sendError", "htmx:responseError"]) {
  document.body.addEventListener(kind, () => { offline.hidden = false; });
}
dark.addEventListener("change", draw);
addEventListener("resize", draw);
setInterval(() => { if (!isPaused && !document.hidden) htmx.trigger(document.body, "tick"); }, TICK_MS);
pause();
draw();
