// Shows the overview anew every half minute, while it is used: requests extend the session, which ends when it is not used.
import { load } from "./load.js";
import { showTimes } from "./times.js";

const pause = 30_000; // milliseconds
const unused = 15 * 60_000;

const overview = document.getElementById("overview");
const updated = document.getElementById("updated");
let used = Date.now();
let last = Date.now();
let timer = setTimeout(update, pause);
say();

for (const event of ["pointermove", "pointerdown", "keydown", "scroll", "visibilitychange"]) {
  document.addEventListener(event, resume, { passive: true });
}

function resume() {
  used = Date.now();
  if (timer || document.hidden) return;
  update();
}

async function update() {
  timer = undefined;
  if (document.hidden || Date.now() - used > unused) return say("Not updated while the page is not used.");
  timer = -1; // a request is on its way
  const page = await load();
  const now = page?.getElementById("overview"); // not in other pages, such as the login or an error
  if (page?.querySelector("form[action^='/console/login']")) return say("Not updated any more: your session has ended. Reload the page to log in.");
  if (now) show(page, now);
  timer = setTimeout(update, pause);
  say(now ? "" : "The newest request failed.");
}

// say shows when the page was updated, and why it is not.
function say(problem = "") {
  const time = new Date(last).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  updated.textContent = `Updated ${time}. ${problem}`;
}

function show(page, now) {
  last = Date.now();
  document.title = page.title;
  replace(document.querySelector("header nav"), page.querySelector("header nav"));
  if (overview.contains(getSelection().anchorNode) && !getSelection().isCollapsed) return; // a text is being copied
  replace(overview, now);
}

const shown = new Map(); // what the server sent for each part

// replace shows new content, with what is open and has the focus as before.
function replace(part, now) {
  if (!part || !now || shown.get(part) === now.innerHTML) return;
  shown.set(part, now.innerHTML);
  const open = [...part.querySelectorAll("details[open]")].map((details) => details.id);
  const focused = part.contains(document.activeElement) ? selectorOf(document.activeElement) : undefined;
  part.replaceChildren(...now.childNodes);
  showTimes(part);
  for (const id of open) part.querySelector(`#${id}`)?.setAttribute("open", "");
  if (focused) part.querySelector(focused)?.focus({ preventScroll: true });
}

function selectorOf(element) {
  if (element.matches("summary")) return `#${element.parentElement.id} > summary`;
  if (element.matches("a[href]")) return `a[href="${CSS.escape(element.getAttribute("href"))}"]`;
  return `[aria-labelledby="${element.getAttribute("aria-labelledby")}"]`;
}
