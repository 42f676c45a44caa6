// Makes the images of the documentation.
import { browser, closeBrowser, fillIn, service } from "./harness.mjs";

const page = await (await browser).newPage({ ignoreHTTPSErrors: true, baseURL: service.url, colorScheme: "light", reducedMotion: "reduce", viewport: { width: 1040, height: 600 } });

// The test registry has another port each time, so the images have the one of the documentation.
const rename = (address) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(address, "127.0.0.1:5000");
  for (const input of document.querySelectorAll("input")) input.value = input.value.replaceAll(address, "127.0.0.1:5000");
};

async function shoot(name, height = 600) {
  await page.setViewportSize({ width: 1040, height });
  await page.evaluate(rename, new URL(service.registry.endpoint).host);
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: `${service.screenshots}/${name}.png` });
}

async function check(name, password, outcome) {
  await page.goto("/console/check");
  const { endpoint, content, username, ca } = service.registry;
  await page.getByLabel("Authentication").selectOption("Basic");
  for (const [label, value] of Object.entries({ Endpoint: endpoint, "Content path": content, Username: username, Password: password, "CA certificate": ca })) {
    await page.getByLabel(label, { exact: true }).fill(value);
  }
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByRole("heading", { name: outcome, exact: true }).waitFor();
  await shoot(name);
}

await page.goto("/console/login");
await fillIn(page, service.admin);
await page.getByRole("heading", { name: "Overview" }).waitFor();
await shoot("overview", 520);
await check("check-valid", service.registry.password, "Valid");
await check("check-not-valid", "rotated in spring", "Not valid");
await page.goto("/console/registries");
await page.getByRole("link", { name: "payments-charts" }).click();
await page.getByRole("heading", { name: "payments-charts" }).waitFor();
await shoot("registry", 700);
await closeBrowser();
