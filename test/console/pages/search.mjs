import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, becomes, fillIn, open, service } from "../harness.mjs";

const path = "/console/search";

accessible("the search", "admin", path);
for (const role of ["admin", "member"]) accessible("what the search finds", role, `${path}?q=e`);

for (const javaScriptEnabled of [true, false]) {
  test(`an administrator finds pages, projects, users and operations, JavaScript ${javaScriptEnabled}`, async (t) => {
    const name = `<img src=x onerror=alert(1)> searched ${javaScriptEnabled}`;
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto("/console/projects/new");
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("link", { name: "Search", exact: true }).click();
    const find = async (text) => {
      await page.getByRole("searchbox").fill(text);
      await page.getByRole("button", { name: "Search" }).click();
      await page.waitForURL(new RegExp(`q=${encodeURIComponent(text).replaceAll("%20", "\\+")}$`));
      await page.waitForLoadState();
    };
    const main = page.getByRole("main");
    await find("INVITE a");
    await main.getByRole("link", { name: "Invite a user", exact: true }).waitFor();
    await find(service.member.email);
    await main.getByRole("heading", { name: "Users" }).waitFor();
    await find("apiKeys");
    assert.match(await main.getByRole("heading", { name: "API operations" }).locator("..").textContent(), /POST \/v1\/apiKeys/);
    await find(`searched ${javaScriptEnabled}`);
    await main.getByRole("link", { name }).click();
    await page.getByRole("rowheader", { name }).waitFor();
    await page.goto(`${path}?q=no%20such%20name`);
    await page.getByText("Nothing that you may see has this text in its name.").waitFor();
  });
}

test("a member finds no user, project or page that it may not see", async (t) => {
  const admin = await as(t, "admin");
  await admin.goto("/console/projects/new");
  await admin.getByLabel("Name").fill("hidden from members");
  await admin.getByRole("button", { name: "Create" }).click();
  const page = await as(t, "member");
  const main = page.getByRole("main");
  for (const text of ["hidden from", service.admin.email, "Invite a"]) {
    await page.goto(`${path}?q=${encodeURIComponent(text)}`);
    for (const title of ["Pages", "Projects", "Users"]) assert.equal(await main.getByRole("heading", { name: title }).count(), 0, `${text}: ${title}`);
  }
  await page.goto(`${path}?q=overview`);
  await main.getByRole("link", { name: "Overview", exact: true }).waitFor();
});

test("shortcuts lead to the search, and do nothing while somebody types", async (t) => {
  const page = await as(t, "admin");
  for (const key of ["/", "Control+k"]) {
    await page.goto("/console/");
    await page.keyboard.press(key);
    await page.waitForURL(`**${path}`);
    await becomes(page.getByRole("searchbox"), ":focus");
  }
  await page.keyboard.type("/?");
  assert.equal(await page.getByRole("searchbox").inputValue(), "/?");
  assert.equal(await page.getByRole("dialog").count(), 0);

  await page.goto("/console/registries");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Shortcuts" }).waitFor();
  await assertAccessible(page);
  await page.keyboard.press("/"); // not behind the dialog
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.ok(page.url().endsWith("/console/registries"));

  await page.getByLabel("Health", { exact: true }).focus();
  await page.keyboard.press("/");
  await page.getByLabel("Name contains").press("Control+k");
  assert.ok(page.url().endsWith("/console/registries"));
});

test("single keys can be turned off, which the browser remembers, and Ctrl K stays", async (t) => {
  const page = await open(t);
  await page.goto("/console/login");
  await fillIn(page, service.member);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.waitForLoadState(); // scripts handle keys then
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Shortcuts" });
  await dialog.getByRole("checkbox").uncheck();
  await assertAccessible(page);
  await page.keyboard.press("Escape");
  for (let visit = 0; visit < 2; visit++) {
    await page.keyboard.press("?");
    await page.keyboard.press("/");
    assert.ok(await dialog.isHidden());
    assert.ok(page.url().endsWith("/console/"));
    await page.reload();
  }
  await page.keyboard.press("Control+k");
  await page.getByRole("heading", { name: "Search", exact: true }).waitFor();
  const setting = page.locator("main").getByRole("checkbox", { name: "as shortcuts" });
  assert.ok(!(await setting.isChecked()));
  await assertAccessible(page);
  await setting.check();
  await page.goto("/console/");
  await page.keyboard.press("/");
  await page.getByRole("heading", { name: "Search", exact: true }).waitFor();
});

test("the setting of shortcuts is not shown where nothing could use it, JavaScript off", async (t) => {
  const page = await as(t, "member", { javaScriptEnabled: false });
  await page.goto("/console/search");
  assert.ok(await page.locator("main [data-single-keys]").isHidden());
});
