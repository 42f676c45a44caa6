import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, download, service } from "../harness.mjs";
import { authenticate, newAccount } from "../account.mjs";

const list = "/console/audit";
const filter = (page) => page.getByRole("button", { name: "Filter" }).click();
const rows = (page) => page.getByRole("region", { name: "Audit records" }).getByRole("row");

for (const role of ["admin", "member"]) {
  accessible("the audit log", role, list);

  test(`${role} filters the audit log, JavaScript off`, async (t) => {
    await as(t, "member"); // who logs in
    const page = await as(t, role, { javaScriptEnabled: false });
    await page.goto(list);
    await page.getByLabel("Action").selectOption("auth.login");
    await page.getByLabel("Outcome").selectOption("succeeded");
    await page.getByLabel("From (UTC)").fill("2020-01-31T12:00");
    await filter(page);
    assert.equal(await page.getByLabel("From (UTC)").inputValue(), "2020-01-31T12:00");
    const shown = await rows(page).allTextContents();
    assert.ok(shown.length > 1, "no record is shown");
    for (const text of shown.slice(1)) assert.match(text, /^auth\.login.*Succeeded/s);
    const foreign = shown.slice(1).filter((text) => !text.includes(service[role].email));
    assert.equal(foreign.length > 0, role === "admin"); // members see their own records only

    await page.getByLabel("Until (UTC)").fill("2020-02-01T12:00");
    await filter(page);
    await page.getByText("No audit record matches the filter.").waitFor();
    await page.getByRole("link", { name: "Show all" }).click();
    assert.equal(await page.getByLabel("Action").inputValue(), "");
    assert.ok((await rows(page).count()) > 1);
  });

  test(`a filter of ${role} that is not valid`, async (t) => {
    const page = await as(t, role);
    assert.equal((await page.goto(list + "?action=%3Cb%3E&startTime=yesterday&continue=x")).status(), 400);
    const alert = page.getByRole("alert");
    assert.match(await alert.textContent(), /Correct 3 fields.*Action must be one of.*From \(UTC\) must be a time such as/s);
    await assertAccessible(page);
  });
}

test("one audit record", async (t) => {
  const account = await newAccount();
  const page = await as(t, "admin");
  await page.goto(list + "?action=user.create");
  await rows(page).nth(1).getByRole("link").first().click();
  await page.getByRole("heading", { name: "user.create" }).waitFor();
  const fact = (name) => page.locator("dt", { hasText: name }).locator("+ dd").textContent();
  assert.deepEqual([await fact("Outcome"), await fact("User"), await fact("Object"), await fact("From")], ["Succeeded", service.admin.email, account.email, "127.0.0.1"]);
  await assertAccessible(page);
  const member = await as(t, "member");
  assert.equal((await member.goto(new URL(page.url()).pathname)).status(), 404);
  await page.getByRole("link", { name: account.email }).click();
  await page.getByRole("heading", { name: account.email }).waitFor();
});

for (const path of [list, "/console/registries"]) {
  test(`without its session, the link to a file on ${path} leads to the login`, async (t) => {
    const page = await as(t, "admin");
    await page.goto(path);
    await page.context().clearCookies();
    await page.getByRole("link", { name: "Download as CSV" }).click();
    await page.getByRole("heading", { name: "Log in" }).waitFor();
  });
}

test("the records of one user and of one object, and the file with them", async (t) => {
  const account = await newAccount();
  const page = await as(t, "admin");
  await page.goto(list + "?action=user.create");
  await rows(page).nth(1).getByRole("link", { name: account.email }).click();
  for (const text of (await rows(page).allTextContents()).slice(1)) assert.match(text, new RegExp(account.email));
  await page.getByLabel("Object").fill("");
  await page.getByLabel("User").fill(service.admin.email);
  await filter(page);
  for (const text of (await rows(page).allTextContents()).slice(1)) assert.match(text, new RegExp(service.admin.email));
  const { name, text } = await download(page, "Download as CSV");
  assert.equal(name, "audit.csv");
  assert.match(text, /^uid,at,action.*\n.*user\.create/);
  await page.getByLabel("User").fill("absent@acme.example");
  await filter(page);
  assert.match(await page.getByRole("alert").textContent(), /User does not exist in your organization/);
});

test("the record of a validation has its report", async (t) => {
  const page = await as(t, "admin");
  await page.goto("/console/");
  const definition = { endpoint: "https://127.0.0.1:9", auth: { type: "noAuth" } }; // nothing listens at this port
  const headers = { Authorization: await authenticate(service.member) };
  const validation = await page.request.post("/v1/registries/oci/basic/diagnose", { headers, data: definition });
  await page.goto(`${list}/${validation.headers()["audituid"]}`);
  const report = JSON.parse(await page.getByRole("region", { name: "Report" }).textContent());
  assert.equal(report.valid, false);
  await assertAccessible(page);
  await page.getByRole("link", { name: "Show the result" }).click();
  await page.getByRole("heading", { name: "Not valid" }).waitFor();
});
