// Runs the tests of all files in pages, or of one, with one browser.
import { readdirSync } from "node:fs";
import { after } from "node:test";
import { closeBrowser, service } from "./harness.mjs";

// The overview has the newest changes only, so that it comes first.
const files = ["overview.mjs", ...readdirSync(new URL("./pages/", import.meta.url)).sort().filter((file) => file !== "overview.mjs")];
for (const file of service.page ? [`${service.page}.mjs`] : files) {
  await import(`./pages/${file}`);
}
after(closeBrowser);
