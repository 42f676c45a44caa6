// Keys that lead to the search and show the list of shortcuts, on pages of a user who is logged in.
const list = document.getElementById("shortcuts");

// Somebody who types in a field, or chooses in one by the first letter, means the field.
const typing = (target) => target instanceof Element && target.closest("input, textarea, select, [contenteditable]");

function search() {
  const field = document.querySelector("main input[name=q]");
  if (field) field.focus();
  else location.assign("/console/search");
}

function act(event) {
  if (event.defaultPrevented || event.repeat || event.isComposing || typing(event.target) || list.open) return;
  const control = (event.ctrlKey || event.metaKey) && !event.altKey;
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if ((plain && event.key === "/") || (control && event.key.toLowerCase() === "k")) search();
  else if (plain && event.key === "?") list.showModal();
  else return;
  event.preventDefault();
}

if (list) document.addEventListener("keydown", act);
