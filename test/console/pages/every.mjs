// Opens every page of the console, with 303 registries of which 33 fail. The harness fails a page that contacts another host, or reports an
// error or a breach of its Content-Security-Policy. The pages are those of pages.txt, which a test of the console compares with its routes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fillIn, forms, open, service, viewports, violationsOf } from "../harness.mjs";

const { url, pages } = service.many;

// logIn returns a page that is logged in to the service with many registries.
async function logIn(t, role, options) {
  const page = await open(t, { baseURL: url, ...options });
  await page.goto("/console/login");
  await fillIn(page, service[role]);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return page;
}

// refused has the pages that return an error to some: a login that was not begun, and what the user of the role does not have or may not do.
const refused = (path, role) => (/sso($|.*callback)/.test(path) ? [401, 404] : role === "member" ? [403, ...(/api-keys/.test(path) ? [404] : [])] : []);

// visit opens a page, and returns what is wrong with it apart from its accessibility.
async function visit(page, role, path) {
  const status = (await page.goto(path)).status();
  const wrong = status === 200 || refused(path, role).includes(status) ? [] : [`status ${status}`];
  if ((await page.locator("h1").count()) !== 1) wrong.push("not one heading");
  for (const viewport of Object.values(viewports)) {
    await page.setViewportSize(viewport);
    const lists = await page.locator(".table").evaluateAll((all) => all.filter((list) => list.scrollWidth > list.clientWidth).map((list) => list.ariaLabel ?? list.getAttribute("aria-labelledby")));
    if (viewport === viewports.narrow && lists.length > 0) wrong.push(`on a phone these scroll sideways: ${lists}`);
    const more = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (more > 0) wrong.push(`${more} px wider than a window of ${viewport.width} px`);
  }
  return wrong;
}

// every tests all pages with find, which returns what else is wrong with one.
function every(name, role, options, find = () => []) {
  test(`every page is ${name} for ${role}`, async (t) => {
    const page = await logIn(t, role, options);
    const wrong = [];
    for (const path of pages.filter((path) => !path.endsWith(".csv"))) {
      for (const text of [...(await visit(page, role, path)), ...(await find(page))]) wrong.push(`${path}: ${text}`);
    }
    assert.deepEqual(wrong, []);
  });
}

// Without -long a member's pages, which are a part of an administrator's, are only opened, and the others have one form.
const one = [["dark", viewports.narrow]];
const tested = { admin: service.long ? forms : one, member: service.long ? forms : [] };
for (const role of ["admin", "member"]) {
  every("accessible", role, {}, (page) => violationsOf(page, tested[role]));
  if (role === "admin" || service.long) every("shown without JavaScript", role, { javaScriptEnabled: false });

  test(`the overview of 303 registries fits two screens for ${role}`, async (t) => {
    const page = await logIn(t, role);
    await page.getByRole("link", { name: "33 registries failing" }).waitFor();
    const fits = async () => {
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      assert.ok(height <= 2 * viewports.wide.height, `the page is ${height} px high`);
    };
    await fits();
    const steps = page.getByRole("region", { name: "First steps" });
    if (await steps.count()) await steps.getByRole("button", { name: "Hide" }).click();
    await steps.waitFor({ state: "detached" });
    await fits();
  });
}

test("a certificate of a CA that 303 registries need is one row, the others have one each", async (t) => {
  const page = await logIn(t, "admin", { javaScriptEnabled: false });
  await page.goto("/console/expiry");
  const rows = page.getByRole("region", { name: "Expiry", exact: true }).locator("tbody tr");
  assert.ok((await rows.locator("time").first().boundingBox()).height < 30, "a date has two lines");
  const all = await rows.allTextContents();
  for (const next = page.getByRole("link", { name: "Next" }); await next.count(); all.push(...(await rows.allTextContents()))) await next.click();
  assert.equal(all.filter((text) => text.includes("Server certificate")).length, 303);
  assert.equal(all.filter((text) => /^registry-0 and 302 more registries.*CA certificate Example <b>CA.*(398|399) days/s.test(text)).length, 1);
  await page.setViewportSize(viewports.narrow);
  const region = page.getByRole("region", { name: "Expiry", exact: true });
  assert.ok(await region.evaluate((element) => element.scrollWidth <= element.clientWidth), "the list scrolls sideways on a phone");
});

test("an administrator filters the list of registries by project, in which there are none", async (t) => {
  const page = await logIn(t, "admin", { javaScriptEnabled: false });
  await page.goto("/console/registries");
  const filter = async (project) => {
    await page.getByLabel("Project", { exact: true }).selectOption(project);
    await page.getByRole("button", { name: "Filter" }).click();
  };
  await filter("Staging");
  await page.getByText("No registry matches.").waitFor();
  assert.equal(await page.getByLabel("Project", { exact: true }).locator("option:checked").textContent(), "Staging");
  await filter("All");
  await page.getByRole("region", { name: "Registries" }).waitFor();
});
