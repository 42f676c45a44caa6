import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, service } from "../harness.mjs";
import { logIn, newAccount } from "../account.mjs";

const roles = "/console/roles";
const teams = "/console/teams";

accessible("the list of roles", "admin", roles);
accessible("a built-in role", "admin", roles + "/auditor");
accessible("the form of a new role", "admin", roles + "/new");
accessible("the list of teams", "admin", teams);
accessible("the form of a new team", "admin", teams + "/new");

const click = (page, name) => page.getByRole("button", { name, exact: true }).click();

// createRole creates a role, and returns the address of its page.
async function createRole(page, name, permissions, inProjects) {
  await page.goto(roles);
  await page.getByRole("link", { name: "Create a role" }).click();
  await page.getByLabel("Name", { exact: true }).fill(name);
  if (inProjects) await page.getByLabel("Can be given in single projects").check();
  for (const permission of permissions) await page.getByLabel(permission, { exact: true }).check();
  await click(page, "Create");
  await page.getByText("The role is created.").waitFor();
  return new URL(page.url()).pathname;
}

for (const javaScriptEnabled of [true, false]) {
  test(`an administrator defines a role and gives it, JavaScript ${javaScriptEnabled}`, async (t) => {
    const name = `Night shift ${javaScriptEnabled}`;
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto(roles + "/new");
    await page.getByLabel("Name", { exact: true }).fill("Admin");
    await page.getByLabel("Can be given in single projects").check();
    await page.getByLabel("See users", { exact: true }).check();
    await click(page, "Create");
    await page.getByRole("alert").getByText("Correct 2 fields.").waitFor();
    await page.getByRole("alert").getByText("must not be the name of a built-in role").waitFor();
    await page.getByRole("alert").getByText("user.list, which a role with the scope project cannot grant").waitFor();
    assert.ok(await page.getByLabel("See users", { exact: true }).isChecked());
    if (javaScriptEnabled) await assertAccessible(page);

    const path = await createRole(page, name, ["See stored registries, with secrets masked", "Synchronize the content of registries"], true);
    await page.getByLabel("Description").fill("<b>at night</b>");
    await page.getByLabel("Synchronize the content of registries", { exact: true }).uncheck();
    await click(page, "Save");
    await page.getByText("The role is saved.").waitFor();
    if (javaScriptEnabled) await assertAccessible(page);

    const account = await newAccount();
    await page.goto(`/console/users/${account.uid}`);
    await page.getByLabel("member", { exact: true }).uncheck();
    await page.getByLabel(name, { exact: true }).check();
    await click(page, "Set the roles");
    await page.getByText("The roles are set.").waitFor();
    await page.getByLabel("Projects").fill(`Default: ${name.toLowerCase()}`);
    await click(page, "Set the projects");
    await page.getByText("The projects are set.").waitFor();
    assert.equal(await page.getByLabel("Projects").inputValue(), `Default: ${name}`);
    await page.goto("/console/users?filter=" + account.email);
    assert.match(await page.getByRole("row", { name: account.email }).textContent(), new RegExp(name + "Enabled"));

    const user = await logIn(t, account);
    await user.getByText(`${service.admin.org} · ${name}`).waitFor();
    assert.deepEqual(await entries(user), ["Overview", "Search", "Registries", "Expiry", "Alerts", "API keys", "Projects", "Audit log", "Account", "API reference"]);
    for (const address of [roles, path, teams, "/console/identity-provider", "/console/trust-rules", "/console/users", "/console/check"]) {
      assert.equal((await user.request.get(address)).status(), 403, address);
    }

    await page.goto(path);
    await page.getByRole("link", { name: "Delete the role" }).click();
    await click(page, "Delete the role");
    await page.getByText(`The role is in use. Take it first from: ${account.email}.`).waitFor();
    await page.goto(`/console/users/${account.uid}`);
    await page.getByLabel(name, { exact: true }).uncheck();
    await click(page, "Set the roles");
    await page.getByText("The roles are set.").waitFor();
    await page.getByLabel("Projects").fill("");
    await click(page, "Set the projects");
    await page.getByText("The projects are set.").waitFor();
    await page.goto(path + "/delete");
    if (javaScriptEnabled) await assertAccessible(page);
    await click(page, "Delete the role");
    await page.getByText("The role is deleted.").waitFor();
    assert.equal(await page.getByRole("link", { name, exact: true }).count(), 0);
  });

  test(`a team gives roles to its users, JavaScript ${javaScriptEnabled}`, async (t) => {
    const name = `Operators ${javaScriptEnabled}`;
    const account = await newAccount("none");
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto(teams);
    await page.getByRole("link", { name: "Create a team" }).first().click();
    await page.getByLabel("Users").fill("unknown@acme.example\n");
    await click(page, "Create");
    await page.getByRole("alert").waitFor();
    if (javaScriptEnabled) await assertAccessible(page);
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel("Users").fill(account.email + "\n");
    await page.getByLabel("auditor", { exact: true }).check();
    await page.getByLabel("Projects").fill("Default: registry-editor");
    await click(page, "Create");
    await page.getByText("The team is created.").waitFor();
    assert.equal(await page.getByLabel("Users").inputValue(), account.email);
    assert.equal(await page.getByLabel("Projects").inputValue(), "Default: registry-editor");
    if (javaScriptEnabled) await assertAccessible(page);
    const path = new URL(page.url()).pathname;

    // A user who joins while the form is open stays.
    const other = await newAccount("none");
    const second = await as(t, "admin", { javaScriptEnabled });
    await second.goto(path);
    await second.getByLabel("Users").fill(`${account.email}\n${other.email}`);
    await click(second, "Save");
    await second.getByText("The team is saved.").waitFor();
    await click(page, "Save");
    await page.getByText("The team is saved.").waitFor();
    assert.deepEqual((await page.getByLabel("Users").inputValue()).split("\n").sort(), [account.email, other.email].sort());

    // An auditor sees roles and teams, and no form and button of them.
    const user = await logIn(t, account);
    for (const address of [path, roles + "/viewer", `/console/users/${account.uid}`]) {
      await user.goto(address);
      assert.equal(await user.locator("main form").count(), 0, address);
      assert.equal(await user.locator("main .button").count(), 0, address);
      if (javaScriptEnabled) await assertAccessible(user);
    }
    await user.goto(path);
    await user.getByText("Default: registry-editor").waitFor();
    for (const [action, form] of [["", { name: "x" }], ["/delete", {}]]) {
      assert.equal((await user.request.post(path + action, { form })).status(), 403, action);
    }

    await page.goto(path);
    await page.getByRole("link", { name: "Delete the team" }).click();
    await click(page, "Delete the team");
    await page.getByText("The team is deleted.").waitFor();
    await user.goto(roles);
    await user.getByRole("heading", { name: "Not allowed" }).waitFor();
  });
}

const entries = (page) => page.getByRole("navigation", { name: "Main" }).locator("a:not(.badge)").allTextContents();
