// Runs the tests of all files in pages, with one browser.
import { readdirSync } from "node:fs";
import { after } from "node:test";
import { closeBrowser } from "./harness.mjs";

for (const file of readdirSync(new URL("./pages/", import.meta.url)).sort()) {
  await import(`./pages/${file}`);
}
after(closeBrowser);
