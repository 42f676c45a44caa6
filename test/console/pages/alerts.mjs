import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { accessible, as, assertAccessible, becomes } from "../harness.mjs";

accessible("the list of alert channels", "admin", "/console/alerts");
accessible("the list of alert channels", "member", "/console/alerts");
accessible("the form of a new email channel", "admin", "/console/alerts", (page) => page.getByRole("link", { name: "New channel in Default: Email" }).first().click());

// receive starts a receiver of webhooks that returns the status, and returns its address and what it receives.
async function receive(t, status, text) {
  const received = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    received.push({ url: request.url, method: request.method, headers: request.headers, body });
    response.writeHead(status).end(text + request.url);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => server.close());
  const host = `127.0.0.1:${server.address().port}`;
  return { host, url: `http://${host}/marked-path-of-the-hook`, received };
}

for (const javaScriptEnabled of [true, false]) {
  test(`webhooks are created, tested, changed and deleted, JavaScript ${javaScriptEnabled}`, async (t) => {
    const { host, url, received } = await receive(t, 200, "thanks <b>");
    const page = await as(t, "admin", { javaScriptEnabled, reducedMotion: "reduce" });
    await page.goto("/console/alerts");
    await page.getByRole("link", { name: "New channel in Default: Webhook" }).click();
    await page.getByRole("button", { name: "Create" }).click();
    assert.match(await page.getByRole("alert").textContent(), /URL is required/);
    await page.getByLabel("URL").fill(url);
    await page.getByLabel("Headers").fill("Authorization: Bearer marked-header-value");
    await page.getByLabel("Send", { exact: true }).selectOption("A body of your own");
    await page.getByLabel("Body of your own").fill('{"to": "{{channel}}", "text": "{{message}}"}');
    await page.getByLabel("Name").fill("hook <i>");
    await page.getByLabel("Signing secret").fill("marked-signing-secret");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("The channel is stored.").waitFor();
    await page.getByRole("heading", { name: "hook <i>" }).waitFor();

    await page.getByRole("button", { name: "Send test" }).click();
    const result = page.getByRole("status");
    assert.match(await result.textContent(), /The sample was delivered \(\d+ ms, status 200\)\..*Response: thanks <b>/s);
    if (javaScriptEnabled) await assertAccessible(page);
    assert.ok(!(await page.content()).includes("marked-"), "a secret is in the page");
    assert.equal(received[0].headers.authorization, "Bearer marked-header-value");
    assert.match(JSON.parse(received[0].body).text, /^Test: /);
    assert.equal(JSON.parse(received[0].body).to, "hook <i>");

    await page.getByLabel("Method").selectOption("PUT");
    await page.getByLabel("Alert after minutes").fill("1441");
    await page.getByLabel("Repeat every hours").fill("6");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("Alert after minutes must be 0–1440").waitFor();
    await page.getByLabel("Alert after minutes").fill("15");
    await page.getByLabel("Method").selectOption("PUT");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The channel is changed.").waitFor();
    assert.deepEqual([await page.getByLabel("Alert after minutes").inputValue(), await page.getByLabel("Repeat every hours").inputValue()], ["15", "6"]);
    await page.getByRole("button", { name: "Send test" }).click();
    await result.filter({ hasText: "The sample was delivered" }).waitFor();
    assert.deepEqual([received[1].method, received[1].url, received[1].headers.authorization], ["PUT", "/marked-path-of-the-hook", "Bearer marked-header-value"]);

    await page.getByLabel("Name").fill("");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: host }).waitFor();
    assert.equal(await page.getByLabel("Name").inputValue(), "");

    await page.getByRole("link", { name: "All channels" }).click();
    await page.getByRole("row", { name: host }).filter({ hasText: "Health of registries" }).getByRole("link").click();
    await page.getByText("Delete channel").first().click();
    await page.getByRole("button", { name: "Delete channel" }).click();
    await page.getByText("The channel is deleted.").waitFor();
    assert.equal(await page.getByRole("row", { name: host }).count(), 0);
  });
}

// The address of Slack is that of the receiver here, since no packet leaves the machine.
for (const javaScriptEnabled of [true, false]) {
  test(`Slack and a test take 4 clicks, JavaScript ${javaScriptEnabled}`, async (t) => {
    const { host, url, received } = await receive(t, 200, "ok");
    const page = await as(t, "admin", { javaScriptEnabled });
    await page.goto("/console/");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Alerts", exact: true }).click();
    await page.getByRole("link", { name: "New channel in Default: Slack" }).click();
    for (const other of ["Headers", "Method", "Signing secret", "Integration key of PagerDuty"]) assert.equal(await page.getByLabel(other).count(), 0, other);
    if (javaScriptEnabled) await assertAccessible(page);
    await page.getByLabel("URL").fill(url);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: host }).waitFor();
    await page.getByRole("button", { name: "Send test" }).click();
    await page.getByText("The sample was delivered").waitFor();
    assert.match(JSON.parse(received[0].body).blocks[0].text.text, /^Test: /);
    await page.getByText("Delete channel").first().click();
    await page.getByRole("button", { name: "Delete channel" }).click();
  });
}

test("each destination has only its fields", async (t) => {
  const page = await as(t, "admin");
  const labels = async (destination) => {
    await page.goto("/console/alerts");
    await page.getByRole("link", { name: `New channel in Default: ${destination}` }).click();
    await page.getByRole("heading", { name: `New channel: ${destination}` }).waitFor();
    return (await page.locator("main label").allTextContents()).join(", ");
  };
  assert.equal(await labels("Microsoft Teams"), "Alerts about, Name, URL, Alert after minutes, Repeat every hours, Send alerts");
  assert.equal(await labels("PagerDuty"), "Alerts about, Name, URL, Integration key of PagerDuty, Alert after minutes, Repeat every hours, Send alerts");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("alert").getByText(/Integration key of PagerDuty is required/).waitFor();
  assert.equal(await labels("Opsgenie"), "Alerts about, Name, URL, Alert after minutes, Repeat every hours, Send alerts, API key of Opsgenie");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("alert").getByText("API key of Opsgenie is required").waitFor();
  assert.equal(await labels("Email"), "Alerts about, Name, Addresses, Also the users of the project and all administrators, Alert after minutes, Repeat every hours, Send alerts");
  assert.equal((await page.goto(page.url().replace("email", "fax"))).status(), 404);
});

test("an administrator sets when alerts of API keys are sent", async (t) => {
  const page = await as(t, "admin");
  await page.goto("/console/alerts");
  await page.getByText("Alerts are sent 30, 7, 1 days before an API key expires.").waitFor();
  const set = async (days) => {
    await page.getByText("Change the days").click();
    await page.getByLabel("Days").fill(days);
    await page.getByRole("button", { name: "Save" }).click();
  };
  await set("60, 14");
  await page.getByText("Alerts are sent 60, 14 days before an API key expires.").waitFor();
  await set("");
  await page.getByText("No alerts are sent before API keys expire.").waitFor();
  await page.getByText("Change the days").click();
  await page.getByLabel("Days").fill("soon");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("Days must be numbers such as 30 7 1").waitFor();
  await assertAccessible(page);
  await page.getByLabel("Days").fill("30 7 1");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Alerts are sent 30, 7, 1 days before an API key expires.").waitFor();

  const member = await as(t, "member");
  await member.goto("/console/alerts");
  assert.equal(await member.getByText("Change the days").count(), 0);
  const refused = await member.request.post("/console/alerts/reminders", { form: { days: "1" } });
  assert.equal(refused.status(), 403);
});

test("a test that fails says why, and a generated secret is shown once", async (t) => {
  const { host, url } = await receive(t, 500, "no such hook ");
  const page = await as(t, "admin");
  await page.goto("/console/alerts");
  await page.getByRole("link", { name: "New channel in Default: Webhook" }).click();
  await page.getByLabel("URL").fill(url);
  await page.getByRole("button", { name: "Create" }).click();
  const secret = await page.getByLabel("Signing secret").textContent();
  assert.match(secret, /^[A-Z2-7]{26}$/);
  await assertAccessible(page);
  await page.getByRole("link", { name: "Go to the channel" }).click();
  await page.getByRole("heading", { name: host }).waitFor();
  assert.ok(!(await page.content()).includes(secret));
  await page.getByRole("button", { name: "Send test" }).click();
  const alert = page.getByRole("alert");
  assert.match(await alert.textContent(), /The sample was not delivered \(\d+ ms, status 500\)\..*Response: no such hook/s);
  await becomes(alert, ":focus");
  await assertAccessible(page);
});

test("email without a mail server", async (t) => {
  const page = await as(t, "admin");
  await page.goto("/console/alerts");
  await page.getByRole("link", { name: "New channel in Default: Email" }).click();
  await page.getByLabel("Addresses").fill("ops@acme.example");
  await page.getByRole("button", { name: "Create" }).click();
  assert.match(await page.getByRole("alert").textContent(), /smtp-host/);
  assert.equal(await page.getByLabel("Addresses").inputValue(), "ops@acme.example");
});

test("a member without projects is shown what to do, and cannot create channels", async (t) => {
  const page = await as(t, "member");
  await page.goto("/console/alerts");
  await page.getByText("You are a member of no project yet.").waitFor();
  assert.equal(await page.getByRole("link", { name: /^New/ }).count(), 0);
  const response = await page.goto("/console/alerts/none/http");
  assert.equal(response.status(), 403);
});

test("an administrator mutes the alerts of a label, and ends it", async (t) => {
  const page = await as(t, "admin");
  await page.goto("/console/alerts");
  await page.getByText("Mute alerts").click();
  await page.getByLabel("Label").fill("team=mute");
  await page.getByLabel("Until (UTC)").fill("2020-01-31T12:00");
  await page.getByRole("button", { name: "Mute", exact: true }).click();
  await page.getByRole("alert").getByText("Until (UTC) must be in the future").waitFor();
  await assertAccessible(page);
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16);
  await page.getByLabel("Until (UTC)").fill(tomorrow);
  await page.getByLabel("Reason").fill("<b>upgrade</b>");
  await page.getByRole("button", { name: "Mute", exact: true }).click();
  await page.getByText("The alerts are muted.").waitFor();
  const row = page.getByRole("row", { name: "label team=mute" });
  await row.getByText("<b>upgrade</b>").waitFor();
  await assertAccessible(page);

  const member = await as(t, "member");
  await member.goto("/console/alerts");
  await member.getByRole("row", { name: "label team=mute" }).waitFor();
  assert.equal(await member.getByText("Mute alerts").count(), 0);
  const forged = await member.request.post("/console/alerts/mute", { form: { until: tomorrow } });
  assert.equal(forged.status(), 403);

  await page.getByRole("button", { name: "End the mute of label team=mute" }).click();
  await page.getByText("The alerts are sent again.").waitFor();
  assert.equal(await row.count(), 0);
});
