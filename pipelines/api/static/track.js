"use strict";
// The server renders; a report that is new has this page ask for itself again. Nothing is made of text here.
const report = document.getElementById("report");
const offline = document.getElementById("offline");
const AGAIN_MS = 5000;
let wanted = 0;

async function show() {
  const asked = ++wanted;
  const answer = await fetch(location.href, { cache: "no-store" });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("report");
  if (asked !== wanted) return;
  if (!fresh) return location.reload();
  report.replaceChildren(...fresh.childNodes);
  report.dataset.events = fresh.dataset.events;
  document.title = page.title;
  offline.hidden = true;
}

function update() {
  show().catch(() => { offline.hidden = false; });
}

function listen() {
  const source = new EventSource(report.dataset.events);
  source.addEventListener("report", update);
  source.addEventListener("gone", () => { source.close(); location.reload(); });
  source.addEventListener("open", () => { offline.hidden = true; });
  source.addEventListener("error", () => {
    offline.hidden = false;
    // A browser comes again by itself after a lost connection, and not after an answer that says no.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { listen(); update(); }, AGAIN_MS * (1 + Math.random()));
  });
}

document.getElementById("updates").hidden = false;
listen();
