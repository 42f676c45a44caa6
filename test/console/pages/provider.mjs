import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible } from "../harness.mjs";

const provider = "/console/identity-provider";
const rules = "/console/trust-rules";
const secret = "hidden client secret";

accessible("the page of single sign-on", "admin", provider);
accessible("the list of trust rules", "admin", rules);
accessible("the form of a new trust rule", "admin", rules + "/new");

const click = (page, name) => page.getByRole("button", { name, exact: true }).click();

for (const javaScriptEnabled of [true, false]) {
  test(`an administrator sets, tests, switches off and deletes the identity provider, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto(provider);
    await page.getByText("Logging in by SAML is not offered.").waitFor();
    for (const end of [/\/console\/sso\/[0-9a-f-]{36}\/callback$/, /\/console\/login$/, /\/v1\/auth\/org\/[0-9a-f-]{36}\/oidc\/backchannel-logout$/]) {
      await page.locator("main code", { hasText: end }).waitFor();
    }
    await page.getByLabel("Issuer").fill("http://login.example.com");
    await page.getByLabel("Client secret").fill(secret);
    await page.getByLabel("Scopes").fill("openid email");
    await click(page, "Save");
    await page.getByRole("alert").getByText("Issuer must be a URL with https").waitFor();
    await page.getByRole("alert").getByText("Client ID is required").waitFor();
    assert.equal(await page.getByLabel("Client secret").inputValue(), "");
    if (javaScriptEnabled) await assertAccessible(page);

    await page.getByLabel("Issuer").fill("https://127.0.0.1:1");
    await page.getByLabel("Client ID").fill("regwarden");
    await page.getByLabel("Client secret").fill(secret);
    await page.getByLabel("Name", { exact: true }).fill("<b>Example</b>");
    await page.getByLabel("Claim of the groups").fill("groups");
    await click(page, "Save");
    await page.getByText("The identity provider is saved.").waitFor();
    await page.getByText("Off: an identity provider is stored").waitFor();
    assert.equal(await page.getByLabel("Scopes").inputValue(), "openid email");
    assert.equal(await page.getByLabel("Claim of the groups").inputValue(), "groups");
    assert.ok(!(await page.content()).includes(secret));
    if (javaScriptEnabled) await assertAccessible(page);

    await click(page, "Test the identity provider");
    await page.getByRole("alert").getByText("The identity provider cannot be used").waitFor();
    if (javaScriptEnabled) await assertAccessible(page);
    await page.getByLabel("Users can log in by it").check();
    await click(page, "Save");
    await page.getByText("On: users can log in by <b>Example</b>").waitFor();
    await click(page, "Switch off");
    await page.getByText("No user can log in by the identity provider now.").waitFor();
    assert.equal(await page.getByLabel("Claim of the groups").inputValue(), "groups");
    await page.getByRole("link", { name: "Delete the identity provider" }).click();
    if (javaScriptEnabled) await assertAccessible(page);
    await click(page, "Delete the identity provider");
    await page.getByText("The identity provider is deleted.").waitFor();
    assert.equal(await page.getByLabel("Issuer").inputValue(), "");
    assert.equal(await page.getByRole("button", { name: "Switch off" }).count(), 0);
  });

  test(`an administrator creates and deletes a trust rule, JavaScript ${javaScriptEnabled}`, async (t) => {
    const name = `github ${javaScriptEnabled}`;
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto(rules);
    await page.getByRole("link", { name: "Create a trust rule" }).click();
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel("Issuer").fill("https://token.actions.githubusercontent.com");
    await page.getByLabel("Audience").fill("regwarden");
    await page.getByLabel("Claims").fill("ref=refs/heads/main");
    await click(page, "Create");
    await page.getByRole("alert").getByText("must name the owner").waitFor();
    if (javaScriptEnabled) await assertAccessible(page);
    await page.getByLabel("Claims").fill("ref=refs/heads/main\nrepository=acme/app\n");
    await page.getByLabel("Role").selectOption("registry-editor");
    await click(page, "Create");
    await page.getByText("The trust rule is created.").waitFor();
    const row = page.getByRole("row", { name });
    assert.match(await row.textContent(), /regwardenref=refs\/heads\/mainrepository=acme\/appregistry-editorNever/);
    if (javaScriptEnabled) await assertAccessible(page);
    await row.getByRole("link", { name: "Delete" }).click();
    await click(page, "Delete the trust rule");
    await page.getByText("The trust rule is deleted.").waitFor();
    assert.equal(await row.count(), 0);
  });
}

test("a member has no page of logins", async (t) => {
  const page = await as(t, "member");
  await page.goto("/console/");
  for (const name of ["Roles", "Teams", "Single sign-on", "Trust rules"]) assert.equal(await page.getByRole("link", { name }).count(), 0, name);
  for (const address of [provider, provider + "/delete", rules, rules + "/new"]) {
    assert.equal((await page.request.get(address)).status(), 403, address);
  }
  const form = { issuer: "https://127.0.0.1:1", clientId: "c", name: "n", audience: "a", claims: "sub=x", role: "admin" };
  for (const address of [provider, provider + "/test", provider + "/disable", provider + "/delete", rules + "/new"]) {
    assert.equal((await page.request.post(address, { form })).status(), 403, address);
  }
});
