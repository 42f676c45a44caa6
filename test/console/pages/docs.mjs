import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, open } from "../harness.mjs";

accessible("the list of the API reference", "anyone", "/docs");
accessible("a group of the API reference", "anyone", "/docs/projects");
accessible("a group of the API reference", "member", "/docs/users");

for (const javaScriptEnabled of [true, false]) {
  test(`the API reference needs no login, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await open(t, { javaScriptEnabled });
    await page.goto("/docs");
    await page.getByRole("link", { name: "Check whether an OCI registry definition is valid" }).click();
    await page.getByRole("heading", { name: "Check whether an OCI registry definition is valid" }).waitFor();
    assert.match(page.url(), /\/docs\/registries#v1BasicOciRegistriesValidate$/);
    await page.getByRole("link", { name: "RegistryDefinition" }).first().click();
    const definition = page.locator("section").filter({ has: page.getByRole("heading", { name: "RegistryDefinition", exact: true }) });
    assert.match(await definition.textContent(), /baseContentPath string Repository, or prefix of repositories/);
    await page.getByRole("navigation", { name: "API reference" }).getByRole("link", { name: "users" }).click();
    await page.getByRole("heading", { name: "API reference: users" }).waitFor();
    await page.getByRole("button", { name: "Dark" }).click();
    assert.match(page.url(), /\/docs\/users$/);
  });
}

test("an anchor is shown at once, with space above", async (t) => {
  const page = await open(t);
  await page.goto("/docs/registries#v1BasicOciRegistriesValidate");
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), "auto");
  const top = await page.locator("#v1BasicOciRegistriesValidate").evaluate((heading) => heading.getBoundingClientRect().top);
  assert.ok(top >= 8 && top < 100, `the heading is ${top} px below the top`);
});

test("bullets are within the page", async (t) => {
  const page = await open(t, { viewport: { width: 320, height: 640 } });
  await page.goto("/docs");
  const indent = await page.locator("main ul").first().evaluate((list) => parseFloat(getComputedStyle(list).paddingLeft));
  assert.ok(indent >= 16, `bullets begin ${indent} px right of the text`);
});

test("an example of the API reference can be copied", async (t) => {
  const page = await as(t, "member", { permissions: ["clipboard-read", "clipboard-write"] });
  await page.goto("/console/docs");
  await page.getByRole("link", { name: "projects", exact: true }).click();
  await page.getByRole("button", { name: "Copy the example: Create a project" }).click();
  await page.getByText("Copied", { exact: true }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^curl -sS .* -X POST "\$REGWARDEN_SERVER\/v1\/projects"/);
});
