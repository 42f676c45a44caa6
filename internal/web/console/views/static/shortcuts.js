// Keys that lead to the search and show the list of shortcuts, on pages of a user who is logged in.
const list = document.getElementById("shortcuts");

// Single keys can be turned off (WCAG 2.1.4), for who speaks to the computer. The browser remembers it, unless it stores nothing.
const stored = "singleKeys";
let single = true;
try {
  single = localStorage.getItem(stored) !== "off";
} catch {} // storage is blocked

for (const setting of document.querySelectorAll("[data-single-keys]")) {
  setting.hidden = false;
  setting.querySelector("input").checked = single;
  setting.addEventListener("change", ({ target }) => setSingle(target.checked));
}

function setSingle(on) {
  single = on;
  for (const box of document.querySelectorAll("[data-single-keys] input")) box.checked = on;
  try {
    if (on) localStorage.removeItem(stored);
    else localStorage.setItem(stored, "off");
  } catch {} // it counts on this page
}

// Somebody who types in a field, or chooses in one by the first letter, means the field.
const typing = (target) => target instanceof Element && target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");

function search() {
  const field = document.querySelector("main input[name=q]");
  if (field) field.focus();
  else location.assign("/console/search");
}

function act(event) {
  if (event.defaultPrevented || event.repeat || event.isComposing || typing(event.target) || list.open) return;
  const control = (event.ctrlKey || event.metaKey) && !event.altKey;
  const plain = single && !event.ctrlKey && !event.metaKey && !event.altKey;
  if ((plain && event.key === "/") || (control && event.key.toLowerCase() === "k")) search();
  else if (plain && event.key === "?") list.showModal();
  else return;
  event.preventDefault();
}

if (list) document.addEventListener("keydown", act);
