import assert from "node:assert/strict";
import { test } from "node:test";
import { open, service } from "../harness.mjs";

const atProvider = (t, options) =>
  open(t, { ...options, expect: [service.sso.url, service.sso.provider].map((site) => `request to ${site}/`) });

// logIn logs in at the provider, to the page of projects.
async function logIn(page) {
  await page.goto(service.sso.url + "/console/projects");
  await page.getByText("Single sign-on").click();
  await page.getByLabel("Company").fill("acme");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("link", { name: "Sign in with Example" }).click();
  await page.getByLabel("Username:").fill(service.sso.username);
  assert.ok(page.url().startsWith(service.sso.provider));
  await page.getByLabel("Password:").fill(service.sso.password);
  await page.getByRole("button", { name: "Login" }).click();
  await page.getByRole("heading", { name: "Projects" }).waitFor();
  await page.getByText(service.sso.email).first().waitFor();
  assert.equal(page.url(), service.sso.url + "/console/projects");
}

for (const javaScriptEnabled of [true, false]) {
  test(`login and logout at an identity provider of another site, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await atProvider(t, { javaScriptEnabled });
    await logIn(page);
    const cookies = (await page.context().cookies()).filter(({ name }) => name.includes("regwarden"));
    assert.deepEqual(cookies.map(({ name, sameSite }) => [name, sameSite]).sort(), [["__Host-regwarden-organization", "Strict"], ["__Host-regwarden-session", "Strict"]]);

    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(service.sso.url + "/console/login");
    await page.goto(service.sso.url + "/console/projects");
    await page.getByRole("heading", { name: "Log in" }).waitFor();
  });
}

// The last test of this service: its users are gone then.
test("a user who is removed at the provider is out", async (t) => {
  const page = await atProvider(t);
  await logIn(page);
  await page.reload();
  await page.getByRole("heading", { name: "Projects" }).waitFor();
  await fetch(service.sso.removal);
  const out = page.getByRole("heading", { name: "Log in" });
  while (!(await out.isVisible())) { // until the session is asked about again
    await page.waitForTimeout(200);
    await page.reload();
  }
});
