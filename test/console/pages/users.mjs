import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, fillIn, open, service } from "../harness.mjs";
import { logIn, newAccount } from "../account.mjs";

const list = "/console/users";

accessible("the list of users", "admin", list);
accessible("the form of a new user", "admin", list + "/new");

const chosen = (page) => page.locator("[name^='role.']:checked").evaluateAll((boxes) => boxes.map(({ name }) => name.replace("role.", "")));
const click = (page, name) => page.getByRole("button", { name, exact: true }).click();

for (const javaScriptEnabled of [true, false]) {
  test(`an administrator creates and changes a user, JavaScript ${javaScriptEnabled}`, async (t) => {
    const email = `new${javaScriptEnabled}@acme.example`;
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto(list);
    await page.getByRole("link", { name: "Create a user" }).click();
    await page.getByLabel("Email").fill("not an email");
    await page.getByLabel("Projects").fill("Default\nNone of these");
    await page.getByLabel("Password").fill("short");
    await click(page, "Create");
    await page.getByRole("alert").getByText("Correct 2 fields.").waitFor();
    assert.equal(await page.getByLabel("Password").inputValue(), "");
    if (javaScriptEnabled) await assertAccessible(page);
    await page.getByLabel("Email").fill(email);
    await click(page, "Create");
    await page.getByRole("alert").getByText("Projects must exist in your organization, unlike None of these").waitFor();
    await page.getByLabel("Projects").fill("default\n");
    await page.getByLabel("First name").fill("Ada");
    await page.getByLabel("Last name").fill("<b>Lovelace</b>");
    await click(page, "Create");
    await page.getByText("The user is created.").waitFor();
    assert.equal(await page.getByLabel("Projects").inputValue(), "Default");

    await page.getByLabel("Email").fill("");
    await click(page, "Save");
    await page.getByRole("alert").getByText("Email is required").waitFor();
    await page.getByLabel("Email").fill("renamed" + email);
    await page.getByLabel("First name").fill("Augusta");
    await click(page, "Save");
    await page.getByText("The user is saved.").waitFor();
    await page.getByLabel("member").uncheck();
    await page.getByLabel("admin").check();
    await page.getByLabel("auditor").check();
    await click(page, "Set the roles");
    await page.getByText("The roles are set.").waitFor();
    assert.deepEqual(await chosen(page), ["admin", "auditor"]);
    await page.getByLabel("Projects").fill("");
    await click(page, "Set the projects");
    await page.getByText("The projects are set.").waitFor();
    assert.equal(await page.getByLabel("Projects").inputValue(), "");
    if (javaScriptEnabled) await assertAccessible(page);

    await page.goto(list);
    await page.getByLabel("Email or name").fill("augusta <b>LOVE");
    await click(page, "Filter");
    const row = page.getByRole("row", { name: "renamed" + email });
    assert.match(await row.textContent(), /Augusta <b>Lovelace<\/b>admin, auditorEnabledNever/);
    await row.getByRole("link").click();
    await page.getByRole("link", { name: "Delete the user" }).click();
    if (javaScriptEnabled) await assertAccessible(page);
    await click(page, "Delete the user");
    await page.getByText("The user is deleted.").waitFor();
    assert.equal(await row.count(), 0);
  });
}

for (const javaScriptEnabled of [true, false]) {
  test(`an invited user sets a password, JavaScript ${javaScriptEnabled}`, async (t) => {
    const email = `invited${javaScriptEnabled}@acme.example`;
    const password = "nine invitations in the rain";
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto(list);
    await page.getByRole("link", { name: "Invite a user" }).click();
    if (javaScriptEnabled) await assertAccessible(page);
    await page.getByLabel("Email").fill(email);
    await click(page, "Invite");
    await page.getByRole("heading", { name: `Link for ${email}` }).waitFor();
    await page.getByText("it was not sent by email (the setting smtp-host is missing)").waitFor();
    if (javaScriptEnabled) await assertAccessible(page);
    const link = await page.locator("#link").textContent();
    assert.ok(link.startsWith(`${service.url}/console/invitation/rwi_`), link);

    const own = await open(t, { javaScriptEnabled, expect: ["status of 400"] });
    await own.goto(link);
    await own.getByText(`You are invited to the organization ${service.admin.org} as ${email}.`).waitFor();
    if (javaScriptEnabled) await assertAccessible(own);
    await own.getByLabel("Password").fill("short");
    await click(own, "Set the password");
    await own.getByRole("alert").waitFor();
    await own.getByLabel("Password").fill(password);
    await click(own, "Set the password");
    await own.getByText("Your password is set. Log in with it.").waitFor();
    await fillIn(own, { org: service.admin.org, email, password });
    await own.getByRole("heading", { name: "Overview" }).waitFor();

    const again = await open(t, { javaScriptEnabled, expect: ["status of 404"] });
    await again.goto(link);
    await again.getByText("This link is not valid, was used, or has expired.").waitFor();
  });
}

test("a new link replaces the former one of a user", async (t) => {
  const page = await as(t, "admin");
  await page.goto(list + "/invite");
  await page.getByLabel("Email").fill("twice@acme.example");
  await click(page, "Invite");
  const first = await page.locator("#link").textContent();
  await page.goto(list);
  await page.getByLabel("Email or name").fill("twice@");
  await click(page, "Filter");
  await page.getByRole("row", { name: "twice@acme.example" }).getByRole("link").click();
  await click(page, "Make a link");
  const second = await page.locator("#link").textContent();
  assert.notEqual(first, second);
  const own = await open(t, { expect: ["status of 404"] });
  await own.goto(first);
  await own.getByText("This link is not valid, was used, or has expired.").waitFor();
  await own.goto(second);
  await own.getByRole("heading", { name: "Set your password" }).waitFor();
});

test("an administrator sets the password of a user, disables and enables it", async (t) => {
  const account = await newAccount();
  const user = await logIn(t, account);
  const page = await as(t, "admin");
  await page.goto(`${list}/${account.uid}`);
  await page.getByLabel("New password").fill("short");
  await click(page, "Set the password");
  await page.getByRole("alert").getByText("New password must").waitFor();
  const password = "four kites above the dunes";
  await page.getByLabel("New password").fill(password);
  await click(page, "Set the password");
  await page.getByText("The password is set.").waitFor();
  assert.ok(!(await page.content()).includes(password));
  await user.reload();
  await user.getByText("Your session has ended.").waitFor();
  await fillIn(user, { ...account, password });
  await user.getByRole("heading", { name: "Overview" }).waitFor();

  await click(page, "Disable the user");
  await page.getByText("The user is disabled.").waitFor();
  await user.reload();
  await user.getByText("Your session has ended.").waitFor();
  await fillIn(user, { ...account, password });
  await user.getByRole("alert").waitFor();
  await click(page, "Enable the user");
  await page.getByText("The user can log in again.").waitFor();
  await fillIn(user, { ...account, password });
  await user.getByRole("heading", { name: "Overview" }).waitFor();
});

test("the own user", async (t) => {
  const page = await as(t, "admin");
  await page.goto(list);
  await page.getByRole("link", { name: service.admin.email, exact: true }).click();
  await page.getByText("This is your own user.").waitFor();
  for (const name of ["Set the roles", "Set the password", "Disable the user"]) {
    assert.equal(await page.getByRole("button", { name }).count(), 0, name);
  }
  const path = new URL(page.url()).pathname;
  for (const [action, form] of [["role", { "role.member": "true" }], ["password", { password: "four kites above the dunes" }], ["disable", {}]]) {
    assert.equal((await page.request.post(`${path}/${action}`, { form })).status(), 403, action);
  }
});

test("an administrator deletes the own user", async (t) => {
  const account = await newAccount("admin");
  const page = await logIn(t, account);
  await page.goto(`${list}/${account.uid}/delete`);
  await page.getByText("This is your own user: you cannot log in again.").waitFor();
  await click(page, "Delete the user");
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await page.getByText("The user is deleted.").waitFor();
  assert.deepEqual((await page.context().cookies()).map(({ name }) => name), ["__Host-regwarden-organization"]);
});

test("long names leave all columns in sight", async (t) => {
  const page = await as(t, "admin");
  const { uid } = await newAccount();
  await page.goto(`${list}/${uid}`);
  for (const name of ["First name", "Last name"]) await page.getByLabel(name).fill("Wolfeschlegelsteinhausenbergerdorff".repeat(3));
  await click(page, "Save");
  await page.getByText("The user is saved.").waitFor();
  await page.waitForLoadState(); // until a script has removed the message from the address
  await page.reload();
  assert.equal(await page.getByText("The user is saved.").count(), 0); // a message is shown once
  await page.goto(list);
  assert.equal(await page.getByRole("region", { name: "Users" }).evaluate((table) => table.scrollWidth - table.clientWidth), 0);
});

test("a member has no page of users", async (t) => {
  const account = await newAccount();
  const page = await as(t, "member");
  await page.goto("/console/");
  assert.equal(await page.getByRole("link", { name: "Users" }).count(), 0);
  const path = `${list}/${account.uid}`;
  for (const address of [list, list + "/new", path, path + "/delete"]) {
    assert.equal((await page.goto(address)).status(), 403, address);
    await page.getByText("Ask an administrator of your organization for it.").waitFor();
  }
  await assertAccessible(page);
  const forged = { emailId: "forged@acme.example", "role.admin": "true", projects: "Default", password: "four kites above the dunes" };
  for (const action of ["", "/role", "/projects", "/password", "/disable", "/enable", "/delete"]) {
    assert.equal((await page.request.post(path + action, { form: forged })).status(), 403, action);
  }
  assert.equal((await page.request.post(list + "/new", { form: forged })).status(), 403);
  await logIn(t, account); // nothing has changed
});
