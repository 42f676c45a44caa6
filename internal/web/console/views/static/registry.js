import { load } from "./load.js";
import { showTimes } from "./times.js";

// Shows the result of a check that has not ended yet when it is there. The page is requested at growing intervals, for two minutes at most.
const pauses = [1, 1, 1, 2, 2, 3, 5, 5, 10, 10, 20, 30, 30]; // seconds

const live = document.getElementById("live");
const waits = () => live.hasAttribute("data-waits");

for (const pause of waits() ? pauses : []) {
  hint(true);
  await new Promise((resume) => setTimeout(resume, pause * 1000));
  const page = await load();
  const now = page?.getElementById("live"); // not in other pages, such as the login
  if (now && now.dataset.checked !== live.dataset.checked) show(now);
  if (!waits()) break;
}
hint(false);

// hint shows either that the result will appear, or the link that reloads the page.
function hint(following) {
  for (const [name, hidden] of [["data-follow", !following], ["data-reload", following]]) {
    live.querySelector(`[${name}]`)?.toggleAttribute("hidden", hidden);
  }
}

function show(now) {
  const focused = live.contains(document.activeElement);
  live.replaceChildren(...now.childNodes);
  showTimes(live);
  live.dataset.checked = now.dataset.checked;
  live.toggleAttribute("data-waits", now.hasAttribute("data-waits"));
  const outcome = document.getElementById("outcome");
  if (focused) outcome.focus();
  if (waits()) return; // the check is repeated
  const ended = document.getElementById("ended");
  ended.className = "notice";
  ended.textContent = `The check has ended: ${outcome.textContent.trim().toLowerCase()}.`;
}
