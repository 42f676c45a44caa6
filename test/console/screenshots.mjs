// Makes the images of the documentation.
import { browser, closeBrowser, fillIn, service } from "./harness.mjs";

const page = await (await browser).newPage({ ignoreHTTPSErrors: true, baseURL: service.url, reducedMotion: "reduce", viewport: { width: 1280, height: 800 } });

// The test registry has another port each time, so the images have the one of the documentation.
const rename = (address) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(address, "127.0.0.1:5000");
  for (const input of document.querySelectorAll("input")) input.value = input.value.replaceAll(address, "127.0.0.1:5000");
};

// shoot writes an image in light colors and one in dark colors.
async function shoot(name, height = 720) {
  await page.setViewportSize({ width: 1280, height });
  await page.evaluate(rename, new URL(service.registry.endpoint).host);
  await page.evaluate(() => scrollTo(0, 0));
  for (const [colorScheme, ending] of [["light", ""], ["dark", "-dark"]]) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: `${service.screenshots}/${name}${ending}.png` });
  }
}

async function check(name, password, outcome) {
  await page.goto("/console/check");
  const { endpoint, content, username, ca } = service.registry;
  await page.getByLabel("Authentication").selectOption("Basic");
  await page.getByText("TLS and certificates").click();
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
await page.getByRole("button", { name: "Hide" }).click();
await page.getByRole("heading", { name: "First steps" }).waitFor({ state: "detached" });
await shoot("overview", 800);
await check("check-valid", service.registry.password, "Valid");
await check("check-not-valid", "rotated in spring", "Not valid");
await page.goto("/console/registries?name=payments-charts");
await page.getByRole("link", { name: "payments-charts" }).click();
await page.getByRole("heading", { name: "payments-charts" }).waitFor();
await shoot("registry", 800);
await closeBrowser();
