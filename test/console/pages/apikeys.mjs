import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, service } from "../harness.mjs";

const list = "/console/api-keys";

// create creates a key in a form, and returns it.
async function create(page, name) {
  await page.goto(list + "/new");
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "API key created" }).waitFor();
  return page.locator("#key").textContent();
}

// works reports whether the API accepts a key.
const works = async (page, key) => (await page.request.get("/v1/users/info", { headers: { ApiKey: key } })).status() === 200;

for (const role of ["admin", "member"]) {
  accessible("the form of a new API key", role, list + "/new");

  test(`${role} creates, deactivates, activates and deletes an API key`, async (t) => {
    const name = `${role} <b>"key"`;
    const page = await as(t, role, { permissions: ["clipboard-read", "clipboard-write"] });
    const key = await create(page, name);
    assert.ok(await works(page, key));
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
    await assertAccessible(page);

    await page.getByRole("link", { name: "Go to the API keys" }).click();
    const row = page.getByRole("row", { name });
    // While the store is busy, the time of a use is not stored, and then not for five minutes unless the key changes.
    for (let tries = 0; tries < 5 && (await row.textContent()).includes("Never"); tries++) {
      await page.getByRole("button", { name: `Deactivate ${name}` }).click();
      await page.getByRole("button", { name: `Activate ${name}` }).click();
      await page.getByText("The API key is active.").waitFor();
      assert.ok(await works(page, key));
      await page.goto(list);
    }
    assert.match(await row.textContent(), /Active.*In 3 months.*(Just now|1 minute ago)/s);
    assert.ok((await row.textContent()).includes(key.slice(0, 8)));
    assert.ok(!(await page.content()).includes(key));
    await assertAccessible(page);

    await row.getByRole("link", { name, exact: true }).click();
    await page.getByLabel("Expires on").fill("2020-01-31");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("Expires on must be in the future").waitFor();
    await assertAccessible(page);
    await page.getByLabel("Expires on").fill("");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("Expires on").waitFor();
    await page.getByLabel("Name").fill("renamed " + name);
    await page.getByLabel("Expires on").fill("2098-01-31");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The API key is saved.").waitFor();
    await row.getByTitle("2098-02-01 00:00:00").waitFor();
    await row.getByRole("link", { name: "renamed " + name, exact: true }).click();
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Save" }).click();
    await row.getByTitle("2098-02-01 00:00:00").waitFor(); // the day has not changed

    await page.getByRole("button", { name: `Deactivate ${name}` }).click();
    await page.getByText("The API key is not active any more.").waitFor();
    await row.getByText("inactive").waitFor();
    assert.ok(!(await works(page, key)));
    await page.getByRole("button", { name: `Activate ${name}` }).click();
    await page.getByText("The API key is active.").waitFor();
    assert.ok(await works(page, key));

    await page.getByRole("link", { name: `Delete ${name}` }).click();
    await page.getByRole("heading", { name: `Delete the API key ${name}?` }).waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: "Cancel" }).click();
    await page.getByRole("link", { name: `Delete ${name}` }).click();
    await page.getByRole("button", { name: "Delete the API key" }).click();
    await page.getByText("The API key is deleted.").waitFor();
    assert.equal(await row.count(), 0);
    assert.ok(!(await works(page, key)));
  });
}

test("a key that may only read, and one of a project", async (t) => {
  const page = await as(t, "admin");
  await page.goto(list + "/new");
  await page.getByLabel("Name").fill("reads");
  await page.getByLabel("May").selectOption("read");
  await assertAccessible(page);
  await page.getByRole("button", { name: "Create" }).click();
  const key = await page.locator("#key").textContent();
  const status = async (method, path, data) => (await page.request.fetch(path, { method, headers: { ApiKey: key }, data })).status();
  assert.equal(await status("GET", "/v1/registries/oci/summary"), 200);
  assert.equal(await status("GET", "/v1/apiKeys"), 403);
  assert.equal(await status("POST", "/v1/projects", { metadata: { name: "x" } }), 403);
  await page.goto(list + "/new");
  await page.getByLabel("Name").fill("in a project");
  await page.getByLabel("May").selectOption("check");
  await page.getByLabel("Project").selectOption({ label: "Default" });
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("link", { name: "Go to the API keys" }).click();
  await page.getByRole("row", { name: "in a project" }).getByText("check, in a project").waitFor();
});

test("a new API key is shown once", async (t) => {
  const page = await as(t, "member", { expect: ["ERR_CACHE_MISS"] });
  const key = await create(page, "once");
  await page.goto(list);
  await page.goBack().catch(() => {}); // the browser has nothing to show
  assert.ok(!(await page.locator("html").textContent()).includes(key));

  const second = await create(page, "second");
  await page.reload();
  await page.getByRole("alert").filter({ hasText: "The user already has an API key with this name." }).waitFor();
  assert.ok(!(await page.content()).includes(second));
  await page.goto(list);
  assert.equal(await page.getByRole("row", { name: "second" }).count(), 1);
});

for (const [how, twice] of [
  ["a double click", (page) => page.getByRole("button", { name: "Create" }).dblclick()],
  ["Enter, pressed twice,", async (page) => {
    for (const key of ["Enter", "Enter"]) await page.keyboard.press(key);
  }],
]) {
  test(`${how} creates an API key once, and the key is shown`, async (t) => {
    const page = await as(t, "member");
    await page.goto(list + "/new");
    await page.getByLabel("Name").fill(how);
    let sent = 0;
    await page.route(`**${list}/new`, async (route) => {
      sent++;
      await new Promise((later) => setTimeout(later, 500)); // so that the form is there when it is sent again
      await route.continue();
    });
    await twice(page);
    const key = await page.locator("#key").textContent();
    await page.unroute(`**${list}/new`);
    assert.ok(await works(page, key));
    assert.equal(sent, 1);
  });
}

test("a form can be sent again when its request was canceled", async (t) => {
  const page = await as(t, "member", { expect: ["ERR_ABORTED"] });
  await page.goto(list + "/new");
  await page.getByLabel("Name").fill("canceled");
  await page.route(`**${list}/new`, (route) => route.abort("aborted"), { times: 1 });
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForTimeout(2_500); // longer than the page ignores it
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "API key created" }).waitFor();
});

test("a new API key where the browser has no clipboard", async (t) => {
  const page = await as(t, "member");
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined }));
  await create(page, "without a clipboard");
  await page.locator("#key").click();
  assert.equal(await page.evaluate(() => getSelection().toString()), await page.locator("#key").textContent());
  assert.equal(await page.getByRole("button", { name: "Copy" }).count(), 0);
});

test("the form of a new API key names its problems, JavaScript off", async (t) => {
  const page = await as(t, "member", { javaScriptEnabled: false });
  await page.goto(list + "/new");
  assert.equal(await page.getByLabel("User").count(), 0);
  await page.getByLabel("Expires on").fill("2020-01-31");
  await page.getByRole("button", { name: "Create" }).click();
  const alert = page.getByRole("alert");
  assert.match(await alert.textContent(), /Correct 2 fields.*Name is required.*Expires on must be in the future/s);
  assert.equal(await page.getByLabel("Expires on").inputValue(), "2020-01-31");
});

test("an administrator creates an API key of a member, and finds it", async (t) => {
  const page = await as(t, "admin");
  await page.goto(list + "/new");
  await page.getByLabel("User").fill("none@acme.example");
  await page.getByLabel("Name").fill("for the member");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("alert").filter({ hasText: "User not found" }).waitFor();
  assert.equal(await page.getByLabel("Name").inputValue(), "for the member");
  await page.getByLabel("User").fill(service.member.email);
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText(`Copy the key for the member of ${service.member.email} now.`).waitFor();

  await page.goto(list);
  await page.getByLabel("Name or user").fill("FOR THE");
  await page.getByRole("button", { name: "Filter" }).click();
  assert.equal(await page.getByRole("row").count(), 2);
  await page.getByRole("row", { name: "for the member" }).getByText(service.member.email).waitFor();
  await page.getByLabel("Name or user").fill("no such name");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByText("No API key matches the filter.").waitFor();
  await assertAccessible(page);
});

test("a member cannot change the API key of an administrator", async (t) => {
  const admin = await as(t, "admin");
  const key = await create(admin, "of the administrator");
  await admin.goto(list);
  const path = await admin.getByRole("link", { name: "Delete of the administrator" }).getAttribute("href");
  const page = await as(t, "member");
  await page.goto(list);
  assert.equal(await page.getByText("of the administrator").count(), 0);
  assert.equal((await page.goto(path)).status(), 404);
  for (const action of ["/delete", "/deactivate", "/activate", ""]) {
    assert.equal((await page.request.post(path.replace("/delete", action), { form: { name: "forged" } })).status(), 404, action);
  }
  assert.ok(await works(page, key));
});
