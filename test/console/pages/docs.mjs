import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, open } from "../harness.mjs";

accessible("the list of the API reference", "anyone", "/docs");
accessible("a group of the API reference", "anyone", "/docs/projects");
accessible("a group of the API reference", "member", "/docs/users");

for (const javaScriptEnabled of [true, false]) {
  test(`the API reference needs no login, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await open(t, { javaScriptEnabled });
    await page.goto("/docs");
    await page.getByText("operations of registries").click();
    await page.getByRole("link", { name: "Check whether an OCI registry definition is valid" }).click();
    await page.getByRole("heading", { name: "Check whether an OCI registry definition is valid" }).waitFor();
    assert.match(page.url(), /\/docs\/registries#v1BasicOciRegistriesValidate$/);
    await page.getByRole("link", { name: "RegistryDefinition" }).first().click();
    const definition = page.locator("details").filter({ has: page.getByRole("heading", { name: "RegistryDefinition", exact: true }) });
    assert.ok(await definition.evaluate((details) => details.open));
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
  await page.getByText("operations of registries").click();
  const indent = await page.locator("main ul").first().evaluate((list) => parseFloat(getComputedStyle(list).paddingLeft));
  assert.ok(indent >= 16, `bullets begin ${indent} px right of the text`);
});

test("an example of the API reference can be copied", async (t) => {
  const page = await as(t, "member", { permissions: ["clipboard-read", "clipboard-write"] });
  await page.goto("/console/docs");
  await page.getByRole("link", { name: "projects", exact: true }).click();
  await page.getByRole("heading", { name: "Create a project" }).click();
  await page.getByRole("button", { name: "Copy the example: Create a project" }).click();
  await page.getByText("Copied", { exact: true }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^curl -sS .* -X POST "\$REGWARDEN_SERVER\/v1\/projects"/);
});

accessible("what the search of the API reference finds", "anyone", "/docs?q=registry");

for (const javaScriptEnabled of [true, false]) {
  test(`the API reference is searched for operations, fields and texts, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await open(t, { javaScriptEnabled });
    const find = async (text) => {
      await page.getByLabel("Words of an operation").fill(text);
      await page.getByRole("search", { name: "API reference" }).getByRole("button", { name: "Search" }).click();
      await page.getByRole("link", { name: "Show the whole reference" }).waitFor();
      return page.locator("main").innerText();
    };
    await page.goto("/docs/users");
    assert.match(await find("import REGISTRIES"), /Operations\n.*\/v1\/registries\/oci\/basic\/import/s);
    assert.match(await find("v1/users post"), /Create a user/);
    assert.match(await find("insecureSkipVerify"), /Schemas\n.*auth\.tls\.insecureSkipVerify|tls\.insecureSkipVerify/s);
    assert.match(await find("mail servers follow links"), /Show the page where the owner of an email address can confirm/);
    assert.match(await find("ProjectNotFoundInTenant"), /Errors\n/);
    assert.match(await find("<b>x</b>\"'"), /No operation, field or text of the API has all of these words/);
    assert.ok((await page.content()).includes("&lt;b&gt;x&lt;/b&gt;"));
    await find("validate definition");
    await page.getByRole("link", { name: "Check whether an OCI registry definition is valid" }).first().click();
    await page.getByText("POST /v1/registries/oci/basic/validate", { exact: true }).waitFor();
  });
}

test("pages of the API reference are short", async (t) => {
  const page = await open(t);
  for (const [path, most] of [["/docs", 4], ["/docs/registries", 7], ["/docs/users", 7], ["/docs?q=registry", 6]]) {
    await page.goto(path);
    const screens = await page.evaluate(() => document.documentElement.scrollHeight / innerHeight);
    assert.ok(screens <= most, `${path} has ${screens} screens`);
  }
  await assertAccessible(page);
});
