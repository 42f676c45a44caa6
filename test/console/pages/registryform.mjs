import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, as, assertAccessible, becomes, serve, service, unfold } from "../harness.mjs";

accessible("the form of a new registry", "admin", "/console/registries/new");

// fillDefinition fills the form of a new registry, and submits it with the keyboard.
async function fillDefinition(page, name, password) {
  await page.goto("/console/registries");
  await page.getByRole("link", { name: "Add a registry" }).click();
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Endpoint").fill(service.registry.endpoint);
  await page.getByLabel("Content path").fill(service.registry.content);
  await page.getByLabel("Authentication").selectOption("basic");
  await page.getByLabel("Username").fill(service.registry.username);
  await page.getByLabel("Password").fill(password);
  await unfold(page);
  await page.getByLabel("CA certificate", { exact: true }).fill(service.registry.ca);
  await page.getByRole("button", { name: "Add" }).press("Enter");
}

// checkNow checks the registry of the page, and waits for this result.
async function checkNow(page, result) {
  await page.getByRole("button", { name: "Check now" }).click();
  await page.getByText("The check has ended.").waitFor();
  await page.getByText(result).first().waitFor();
}

for (const javaScriptEnabled of [true, false]) {
  test(`a registry from its creation to its deletion, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "admin", { javaScriptEnabled });
    const name = `made-${javaScriptEnabled}`;
    await fillDefinition(page, name, service.registry.password);
    await page.getByText("The registry is stored.").waitFor();
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    await checkNow(page, "The registry works");

    await page.getByRole("link", { name: "Edit" }).click();
    assert.equal(await page.getByLabel("Password").inputValue(), "");
    assert.ok(!(await page.content()).includes(service.registry.password), "the page has the password");
    await page.getByText("Leave empty to use the stored one.").first().waitFor();
    await page.getByLabel("Name", { exact: true }).fill(name + "-again");
    await page.getByLabel("Synchronize content").check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: name + "-again", level: 1 }).waitFor();
    await checkNow(page, "The registry works");
    for (const what of ["stored", "changed"]) {
      await page.getByRole("region", { name: "Changes of the definition" }).getByRole("row", { name: what }).getByText(service.admin.email).waitFor();
    }
    await page.getByRole("button", { name: "Sync now" }).click();
    await page.getByText("The content is synchronized as soon as").waitFor();

    await page.getByText("More", { exact: true }).click();
    await page.getByRole("link", { name: "Delete" }).click();
    if (javaScriptEnabled) await assertAccessible(page);
    await page.getByRole("link", { name: "Cancel" }).click();
    await page.getByText("More", { exact: true }).click();
    await page.getByRole("link", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete the registry" }).click();
    await page.getByText("The registry is deleted.").waitFor();
    assert.equal(await page.getByRole("link", { name }).count(), 0);
    await page.goBack();
    await page.getByRole("button", { name: "Delete the registry" }).or(page.getByText("Registry not found.")).waitFor();
  });
}

// holdable starts a registry with one user. hold lets it keep requests until the returned function is called.
async function holdable(t) {
  let held = Promise.resolve();
  const accepted = `Basic ${Buffer.from("ada:right").toString("base64")}`;
  const endpoint = await serve(t, async ({ headers, url }, response) => {
    await held;
    if (headers.authorization !== accepted) return response.writeHead(401, { "WWW-Authenticate": 'Basic realm="r"' }).end();
    response.writeHead(200, { "Content-Type": "application/json" }).end(url.includes("_catalog") ? '{"repositories":["a"]}' : "{}");
  });
  const hold = () => {
    let release;
    held = new Promise((resolve) => (release = resolve));
    return release;
  };
  return { endpoint, hold };
}

for (const javaScriptEnabled of [true, false]) {
  test(`a corrected password, JavaScript ${javaScriptEnabled}`, async (t) => {
    const page = await as(t, "admin", { javaScriptEnabled });
    const { endpoint, hold } = await holdable(t);
    await page.goto("/console/registries/new");
    const release = hold();
    await page.getByLabel("Authentication").selectOption("basic");
    const values = { Name: `corrected-${javaScriptEnabled}`, Endpoint: endpoint, Username: "ada", Password: "wrong" };
    for (const [label, text] of Object.entries(values)) {
      await page.getByLabel(label, { exact: true }).fill(text);
    }
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("heading", { name: "Not checked yet" }).waitFor();
    release();
    const shows = async (name) => {
      const heading = page.getByRole("heading", { name, exact: true });
      if (!javaScriptEnabled) while ((await heading.count()) === 0) await page.getByRole("link", { name: "Reload" }).click();
      await heading.waitFor();
    };
    await shows("Failing");
    await page.getByRole("link", { name: "Password", exact: true }).click();
    await page.getByLabel("Password").fill("right");
    const releaseAgain = hold();
    await page.getByRole("button", { name: "Save" }).click();
    const result = page.getByRole("region", { name: "Changed, no result yet" });
    const text = await result.textContent();
    assert.match(text, /changed just now, and its check has not ended yet\. The result below is of the definition before\./);
    assert.match(text, /Before the change: failing\s+The credentials were rejected/);
    assert.equal(await page.getByText("Its first check").count(), 0);
    let requests = 0;
    let showEnd;
    if (javaScriptEnabled) {
      // A check waits 10 s for a response at most. The page gets its result when it was examined.
      const examined = new Promise((resolve) => (showEnd = resolve));
      const { pathname } = new URL(page.url());
      await page.route((url) => url.pathname === pathname, (route) => examined.then(() => route.continue()));
      releaseAgain();
      await assertAccessible(page);
      page.on("request", (request) => (requests += request.isNavigationRequest() ? 1 : 0));
      await page.getByText("The result is shown here when the check has ended.").waitFor();
      assert.equal(await page.getByRole("link", { name: "Reload" }).isVisible(), false);
      await result.getByRole("link", { name: "Password", exact: true }).focus();
      showEnd();
    } else {
      releaseAgain();
    }
    await shows("Healthy");
    assert.equal(await page.getByText("Before the change").count(), 0);
    if (javaScriptEnabled) {
      assert.equal(requests, 0, "the page was left");
      await page.getByRole("status").getByText("The check has ended: healthy.").waitFor();
      await becomes(page.getByRole("heading", { name: "Healthy" }), ":focus"); // the link that had it is gone
      await assertAccessible(page);
    }
  });
}

test("two tabs edit one registry", async (t) => {
  const [first, second] = [await as(t, "admin"), await as(t, "admin")];
  for (const page of [first, second]) {
    await page.goto("/console/registries");
    await page.getByRole("link", { name: "charts", exact: true }).click();
    await page.getByRole("link", { name: "Edit" }).click();
  }
  await first.getByRole("button", { name: "Save" }).click();
  await first.getByText("The registry is stored.").waitFor();
  await unfold(second);
  await second.getByLabel("Base path").fill("typed");
  await second.getByRole("button", { name: "Save" }).click();
  const alert = second.getByRole("alert");
  await alert.getByText("The registry was changed after you opened it.").waitFor();
  assert.equal(await second.getByLabel("Base path").inputValue(), "typed");
  await assertAccessible(second);
  await alert.getByRole("link", { name: "Edit the current state" }).click();
  assert.equal(await second.getByLabel("Base path").inputValue(), "");
  await second.getByRole("button", { name: "Save" }).click();
  await second.getByText("The registry is stored.").waitFor();
});

test("a registry that is refused", async (t) => {
  const page = await as(t, "admin");
  await fillDefinition(page, "charts", "some password");
  const alert = page.getByRole("alert");
  await alert.getByText("A registry with this name already exists").waitFor();
  await becomes(alert, ":focus");
  assert.equal(await page.getByLabel("Endpoint").inputValue(), service.registry.endpoint);
  assert.equal(await page.getByLabel("Password").inputValue(), "");
  await page.getByLabel("Name", { exact: true }).fill("");
  await page.getByLabel("Endpoint").fill("");
  await page.getByRole("button", { name: "Add" }).click();
  for (const [problem, label] of [["Name is required", "Name"], ["Endpoint is required", "Endpoint"], ["Password is required", "Password"]]) {
    await alert.getByRole("link", { name: problem }).click();
    await becomes(page.getByLabel(label, { exact: true }), ":focus");
  }
  await assertAccessible(page);
});

test("a stored password is not sent to another host", async (t) => {
  const page = await as(t, "admin");
  await page.goto("/console/registries?name=charts");
  await page.getByRole("link", { name: "charts" }).click();
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Endpoint").fill("https://127.0.0.1:9");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByRole("link", { name: /^Password must be sent/ }).waitFor();
});

test("what a member may not do", async (t) => {
  const page = await as(t, "member");
  await page.goto("/console/registries");
  const path = await page.getByRole("link", { name: "charts" }).getAttribute("href");
  for (const denied of ["/console/registries/new", `${path}/edit`, `${path}/delete`]) {
    assert.equal((await page.goto(denied)).status(), 403, denied);
    await page.getByText("Ask an administrator of your organization for it.").waitFor();
  }
  const form = { name: "forged", endpoint: service.registry.endpoint, authType: "none", providerType: "helm" };
  for (const denied of ["/console/registries/new", `${path}/edit`, `${path}/delete`, `${path}/sync`]) {
    const response = await page.request.post(denied, { form, headers: { Origin: service.url }, maxRedirects: 0 });
    assert.equal(response.status(), 403, denied);
  }
  await page.goto(path);
  await page.getByRole("heading", { name: "charts", level: 1 }).waitFor();
});

test("a registry that was stored without a provider type shows the default", async (t) => {
  const page = await as(t, "admin");
  const key = await makeKey(page, "without provider type");
  const created = await page.request.post("/v1/registries/oci/basic", {
    headers: { ApiKey: key },
    data: { metadata: { name: "without provider type" }, spec: { endpoint: "https://127.0.0.1:9", auth: { type: "noAuth" } } },
  });
  assert.equal(created.status(), 201);
  const path = `/console/registries/${(await created.json()).uid}`;
  await page.goto(path);
  const fact = page.locator("dl div").filter({ has: page.getByText("Provider type", { exact: true }) });
  assert.equal(await fact.locator("dd").textContent(), "Helm");
  await page.goto(path + "/edit");
  assert.equal(await page.getByLabel("Provider type").locator("option:checked").textContent(), "Helm");
  await page.goto(path + "/delete");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByText("The registry is deleted.").waitFor();
});

// makeKey creates an API key, and returns it.
async function makeKey(page, name) {
  await page.goto("/console/api-keys/new");
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Create" }).click();
  return page.locator("#key").textContent();
}
