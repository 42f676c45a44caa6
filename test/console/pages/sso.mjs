import assert from "node:assert/strict";
import { test } from "node:test";
import { open, service } from "../harness.mjs";

for (const javaScriptEnabled of [true, false]) {
  test(`login and logout at an identity provider of another site, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await open(t, { javaScriptEnabled, expect: [service.sso.url, service.sso.provider].map((site) => `request to ${site}/`) });
    await page.goto(service.sso.url + "/console/projects");
    await page.getByText("Single sign-on").click();
    await page.getByLabel("Company").fill("acme");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("link", { name: "Log in with Example" }).click();
    await page.getByLabel("Username:").fill(service.sso.username);
    assert.ok(page.url().startsWith(service.sso.provider));
    await page.getByLabel("Password:").fill(service.sso.password);
    await page.getByRole("button", { name: "Login" }).click();
    await page.getByRole("heading", { name: "Projects" }).waitFor();
    await page.getByText(service.sso.email).first().waitFor();
    assert.equal(page.url(), service.sso.url + "/console/projects");
    const cookies = (await page.context().cookies()).filter(({ name }) => name.includes("regwarden"));
    assert.deepEqual(cookies.map(({ name, sameSite }) => [name, sameSite]).sort(), [["__Host-regwarden-organization", "Strict"], ["__Host-regwarden-session", "Strict"]]);

    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(service.sso.url + "/console/login");
    await page.goto(service.sso.url + "/console/projects");
    await page.getByRole("heading", { name: "Log in" }).waitFor();
  });
}
