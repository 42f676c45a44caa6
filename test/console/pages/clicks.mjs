// Counts how many clicks tasks take from the overview. What is typed goes to the field that has the focus, so that a field that has to be
// clicked first counts too.
import assert from "node:assert/strict";
import { test } from "node:test";
import { authenticate } from "../account.mjs";
import { api, as, serve, service } from "../harness.mjs";

// task tests that do, which gets a page with the overview, click and type, takes no more clicks than most.
function task(name, most, do_) {
  test(`${name} takes at most ${most} clicks`, async (t) => {
    const prepared = await do_.prepare?.(t);
    const page = await as(t, "admin");
    let clicks = 0;
    const click = async (locator) => {
      await locator.click();
      clicks++;
    };
    await page.goto("/console/");
    const type = async (text) => {
      await page.waitForLoadState();
      await page.locator("main input:focus").waitFor();
      await page.keyboard.type(text);
    };
    await do_(page, click, type, prepared);
    t.diagnostic(`${name}: ${clicks} clicks`);
    assert.ok(clicks <= most, `${clicks} clicks`);
  });
}

// menu returns an entry of the navigation.
const menu = (page, name) => page.getByRole("navigation").getByRole("link", { name, exact: true });

const send = async (method, path, data) => {
  const response = await (await api).fetch(path, { method, data, headers: { Authorization: await authenticate(service.admin) } });
  assert.ok(response.ok(), `${path}: ${response.status()} ${await response.text()}`);
  return response;
};

// store stores an object until the test ends, and returns its uid. The other tests of pages count what is stored.
async function store(t, path, data, own) {
  const { uid } = await (await send("POST", path, data)).json();
  t.after(() => send("DELETE", own.replace("{uid}", uid)));
  return uid;
}

const correctPassword = async (page, click, type, name) => {
  const table = page.getByRole("region", { name: "Failing registries" });
  assert.match(await table.textContent(), /credentials were rejected|rejected the credentials/);
  const link = table.getByRole("link", { name, exact: true });
  if (!(await link.isVisible())) await click(table.locator("summary").filter({ has: page.locator(`xpath=..//a[text()="${name}"]`) }));
  await click(link);
  await click(page.getByRole("link", { name: "Password", exact: true }));
  await click(page.getByLabel("Password"));
  await type(service.registry.password);
  await click(page.getByRole("button", { name: "Save" }));
  await page.locator(".result.healthy").getByRole("heading", { name: "Healthy" }).waitFor(); // by itself
};
correctPassword.prepare = async (t) => {
  const { endpoint, content, username, ca } = service.registry;
  const auth = { type: "basic", username, password: "a wrong one", tls: { enabled: true, ca } };
  const uid = await store(t, "/v1/registries/oci/basic", { metadata: { name: "clicks" }, spec: { endpoint, providerType: "helm", baseContentPath: content, auth } }, "/v1/registries/oci/{uid}/basic");
  await send("POST", `/v1/registries/oci/${uid}/check?wait=true`);
  return "clicks";
};
task("why a registry fails, correcting its password until it is healthy", 5, correctPassword);

task("what expires, with dates", 1, async (page, click) => {
  await click(menu(page, "Expiry"));
  assert.match(await page.getByRole("region", { name: "Expiry" }).getByRole("row").nth(1).textContent(), /\d{4}-\d\d-\d\d/);
});

const whoChanged = async (page, click, type, registry) => {
  await click(menu(page, "Registries"));
  await click(page.getByRole("link", { name: registry, exact: true }));
  const changes = page.getByRole("region", { name: "Changes of the definition" });
  const change = changes.getByRole("row").filter({ hasText: service.admin.email }).filter({ hasText: "Content path" });
  await change.first().waitFor();
};
whoChanged.prepare = async (t) => {
  const spec = { endpoint: "https://127.0.0.1:9", providerType: "helm", auth: { type: "noAuth" } };
  const metadata = { name: "a registry that somebody changed" };
  const uid = await store(t, "/v1/registries/oci/basic", { metadata, spec }, "/v1/registries/oci/{uid}/basic");
  await send("PUT", `/v1/registries/oci/${uid}/basic`, { metadata, spec: { ...spec, baseContentPath: "charts" } });
  return metadata.name;
};
task("who changed a registry, and what", 2, whoChanged);

task("inviting a user", 4, async (page, click, type) => {
  await click(menu(page, "Users"));
  await click(page.getByRole("link", { name: "Invite a user" }));
  await type("invited.by.clicks@acme.example");
  await click(page.getByRole("button", { name: "Invite" }));
  await page.getByText("invited.by.clicks@acme.example").first().waitFor();
  const { items } = await (await send("GET", "/v1/users")).json();
  const invited = items.find((user) => user.spec.emailId === "invited.by.clicks@acme.example");
  await send("DELETE", `/v1/users/${invited.metadata.uid}`);
});

const slack = async (page, click, type, { url, received }) => {
  await click(menu(page, "Alerts"));
  await click(page.getByRole("link", { name: /^New channel in project of clicks: Slack/ }));
  await type(url);
  await click(page.getByRole("button", { name: "Create" }));
  await click(page.getByRole("button", { name: "Send test" }));
  await page.getByText("The sample was delivered").waitFor();
  assert.equal(received.length, 1);
};
slack.prepare = async (t) => {
  const received = [];
  const url = await serve(t, (request, response) => (received.push(request.url), response.end("ok")));
  const { uid } = await (await send("POST", "/v1/projects", { metadata: { name: "project of clicks" } })).json();
  t.after(() => send("DELETE", `/v1/projects/${uid}/alerts/RegistryHealth`));
  t.after(() => send("DELETE", `/v1/projects/${uid}`));
  return { url, received };
};
task("alerts to Slack, and a test", 4, slack);

task("a read-only key", 3, async (page, click, type) => {
  await click(menu(page, "API keys"));
  await click(page.getByRole("link", { name: "Create a read-only key" }));
  await type("read-only by clicks");
  await click(page.getByRole("button", { name: "Create" }));
  const key = await page.locator("#key").textContent();
  const status = async (method, path, data) => (await page.request.fetch(path, { method, headers: { ApiKey: key }, data })).status();
  assert.equal(await status("GET", "/v1/registries/oci/summary"), 200);
  assert.equal(await status("POST", "/v1/projects", { metadata: { name: "x" } }), 403);
  const { items } = await (await send("GET", "/v1/apiKeys")).json();
  await send("DELETE", `/v1/apiKeys/${items.find((one) => one.metadata.name === "read-only by clicks").metadata.uid}`);
});
