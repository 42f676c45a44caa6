// Runs the tests of all files in pages, or of one, with one browser.
import { readdirSync } from "node:fs";
import { after } from "node:test";
import { closeBrowser, service } from "./harness.mjs";

const files = readdirSync(new URL("./pages/", import.meta.url)).sort();
for (const file of service.page ? [`${service.page}.mjs`] : files) {
  await import(`./pages/${file}`);
}
after(closeBrowser);
