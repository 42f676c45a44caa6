import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, becomes, fillIn, open, service } from "../harness.mjs";

accessible("the login", "anyone", "/console/login");
accessible("a refused login", "anyone", "/console/login", async (page) => {
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").waitFor();
});

for (const javaScriptEnabled of [true, false]) {
  test(`login and logout, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await open(t, { javaScriptEnabled });
    await page.goto("/");
    assert.equal(page.url(), service.url + "/console/login");
    await fillIn(page, service.admin);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(page.url(), service.url + "/console/");
    const sent = await page.context().cookies();
    const [cookie] = sent.filter(({ name }) => name.endsWith("-session"));
    assert.deepEqual([sent.length - 1, cookie.name, cookie.httpOnly, cookie.secure, cookie.sameSite, cookie.path], [1, "__Host-regwarden-session", true, true, "Strict", "/"]);
    await page.goto("/console/login");
    await page.getByRole("heading", { name: "Overview" }).waitFor();

    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("You are logged out.").waitFor();
    assert.deepEqual((await page.context().cookies()).map(({ name }) => name), ["__Host-regwarden-organization"]);
    assert.equal(await page.getByLabel("Organization").inputValue(), service.admin.org);
    await page.goBack();
    await page.getByRole("heading", { name: "Log in" }).waitFor();
    await page.context().addCookies([cookie]);
    await page.goto("/console/");
    await page.getByText("Your session has ended. Log in again.").waitFor();
  });
}

test("keyboard only", async (t) => {
  const page = await open(t);
  await page.goto("/console/login");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  for (const text of [service.member.org, service.member.email, service.member.password]) {
    await page.keyboard.type(text);
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
});

test("a wrong password", async (t) => {
  const page = await open(t);
  await page.goto("/console/login");
  await fillIn(page, { ...service.admin, password: "five lanterns on the quay" });
  const alert = page.getByRole("alert");
  assert.match(await alert.textContent(), /Wrong email, organization or password\./);
  await becomes(alert, ":focus");
  assert.equal(await page.getByLabel("Email").inputValue(), service.admin.email);
  assert.equal(await page.getByLabel("Password").inputValue(), "");
  await page.getByLabel("Password").fill(service.admin.password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
});

test("too many wrong passwords", async (t) => {
  const page = await open(t);
  await page.goto("/console/login");
  const alert = page.getByRole("alert").filter({ hasText: /Too many failed logins\. Try again in \d+ (second|minute)s?\./ });
  for (let n = 0; n < 20 && (await alert.count()) === 0; n++) {
    await fillIn(page, { ...service.admin, email: "none@acme.example", password: "five lanterns on the quay" });
  }
  await alert.waitFor();
});

test("the login leads to the page that was wanted, and to no other site", async (t) => {
  const page = await open(t);
  await page.goto("/console/?from=mail");
  await page.context().clearCookies();
  await page.goto("/console/nothing-here?a=b");
  assert.equal(page.url(), service.url + "/console/login?next=%2Fconsole%2Fnothing-here%3Fa%3Db");
  for (const next of ["https://evil.example/", "//evil.example/console/", "/console//evil.example", "/\\evil.example", "/v1/users",
    "/console/../v1/users", "/console/%2e%2e/v1/users", "/console\\..\\v1", "/docs/%2e%2e", "javascript:alert(1)"]) {
    await page.goto("/console/login?" + new URLSearchParams({ next }));
    assert.equal(await page.locator("main input[name=next]").inputValue(), "/console/", next);
  }
  await page.goto("/console/login?next=%2Fconsole%2Fnothing-here%3Fa%3Db");
  await fillIn(page, service.member);
  await page.getByRole("heading", { name: "Not found", exact: true }).waitFor();
  assert.equal(page.url(), service.url + "/console/nothing-here?a=b");
});

test("a session that ends in another tab", async (t) => {
  const page = await open(t);
  await page.goto("/console/login");
  await fillIn(page, service.member);
  const second = await page.context().newPage();
  await second.goto("/console/");
  await second.getByRole("button", { name: "Log out" }).click();
  await second.getByText("You are logged out.").waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
});

test("a form that is sent after the session has ended", async (t) => {
  const page = await open(t);
  await page.goto("/console/login");
  await fillIn(page, service.admin);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goto("/console/projects/new");
  await page.context().clearCookies();
  await page.getByLabel("Name").fill("too late");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Your session has ended, so nothing was changed.").waitFor();
  await fillIn(page, service.admin);
  await page.getByRole("heading", { name: "Create a project" }).waitFor();
  assert.equal(await page.getByText("nothing was changed").count(), 0);
});

test("each login has a reference of its own", async (t) => {
  const page = await open(t);
  const planted = { name: "__Host-regwarden-session", value: "rwc_planted", url: service.url, secure: true };
  await page.context().addCookies([planted]);
  await page.goto("/console/login");
  await fillIn(page, service.member);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const [first] = (await page.context().cookies()).filter(({ name }) => name.endsWith("-session"));
  assert.notEqual(first.value, planted.value);
  await page.context().addCookies([{ ...first, name: "__Host-other" }]);
  await page.request.post("/console/login", { form: { org: service.member.org, emailId: service.member.email, password: service.member.password }, maxRedirects: 0 });
  const cookies = await page.context().cookies();
  assert.notEqual(cookies.find(({ name }) => name === first.name).value, first.value);
  await page.context().addCookies([first]);
  await page.goto("/console/");
  await page.getByText("Your session has ended.").waitFor(); // the second login ended it
});

test("colors can be chosen without JavaScript", async (t) => {
  const page = await as(t, "member", { javaScriptEnabled: false, colorScheme: "light" });
  await page.goto("/console/");
  const scheme = () => page.locator("html").evaluate((element) => getComputedStyle(element).colorScheme);
  const chosen = (name) => page.getByRole("button", { name, pressed: true }).waitFor();
  await chosen("System");
  for (const [name, want] of [["Dark", "dark"], ["Light", "light"], ["System", "light dark"]]) {
    await page.getByRole("button", { name }).click();
    await chosen(name);
    assert.equal(await scheme(), want);
    assert.equal(page.url(), service.url + "/console/");
  }
});
