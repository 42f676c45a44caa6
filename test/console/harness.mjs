// What the tests of the console share: one browser, whose contexts fail a test when a page contacts another host, reports
// an error, or breaks its Content-Security-Policy.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { chromium, request } from "playwright-core";

// service describes the running service and what it stores: see service in console_test.go.
export const service = JSON.parse(process.env.CONSOLE_UNDER_TEST);

const axe = readFileSync(new URL("./node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

// The headless shell has no window around the pages, and takes less than half of the processor time of the whole browser.
export const browser = chromium.launch({
  executablePath: service.chromium,
  // Other names resolve to nothing, so no packet leaves the machine whatever a page does.
  args: ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
});

// api sends requests without a page.
export const api = request.newContext({ ignoreHTTPSErrors: true, baseURL: service.url });

// closeBrowser ends the browser after all tests.
export const closeBrowser = async () => {
  await (await api).dispose();
  await (await browser).close();
};

let whole = false;

// readWhole has everything that reads a page wait until it is loaded: a click that leads to another page returns when that begins to load.
function readWhole(page) {
  whole = true;
  const wait = (prototype, pageOf, ...names) => {
    for (const name of names) {
      const read = prototype[name];
      prototype[name] = async function (...given) {
        await pageOf(this).waitForLoadState();
        return read.apply(this, given);
      };
    }
  };
  wait(Object.getPrototypeOf(page), (page) => page, "content", "evaluate", "title");
  wait(Object.getPrototypeOf(page.locator("*")), (locator) => locator.page(), "allInnerTexts", "allTextContents", "boundingBox", "count", "evaluate",
    "evaluateAll", "getAttribute", "innerText", "inputValue", "isVisible", "textContent");
}

export const viewports = { narrow: { width: 320, height: 640 }, wide: { width: 1280, height: 800 } };

// create returns a page in a new context, and the list to which what goes wrong in any page of the context is added.
async function create(options) {
  const { origin } = new URL(options.baseURL ?? service.url);
  const context = await (await browser).newContext({ ignoreHTTPSErrors: true, viewport: viewports.wide, baseURL: service.url, reducedMotion: "reduce", ...options });
  const wrong = [];
  context.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) wrong.push(`request to ${request.url()}`);
  });
  context.on("console", (message) => {
    // The browser reports each status from 400 on as an error.
    if (message.type() === "error" && !message.text().includes("the server responded with a status of 4")) wrong.push(message.text());
  });
  context.on("weberror", (error) => wrong.push(String(error.error())));
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  if (!whole) readWhole(page);
  return { page, wrong };
}

// open returns a page in a new context. What goes wrong in any page of the context fails the test when it ends.
// options are those of a context, and also expect: texts of errors that the test causes.
export async function open(t, { expect = [], ...options } = {}) {
  const { page, wrong } = await create(options);
  t.after(async () => {
    await page.context().close();
    assert.deepEqual(wrong.filter((text) => !expect.some((part) => text.includes(part))), []);
  });
  return page;
}

// idle has the pages of tests that ended, by the options of their context. A context of its own for each test took a third of
// the processor time of all tests.
const idle = {};

// reuse is open with a page that other tests use too, which is as a new one except for its history.
async function reuse(t, options) {
  const pages = (idle[JSON.stringify(options)] ??= []);
  const used = pages.pop() ?? (await create(options));
  const { page, wrong } = used;
  await page.context().clearCookies();
  await page.setViewportSize(options.viewport ?? viewports.wide);
  await page.emulateMedia({ colorScheme: options.colorScheme ?? "light" });
  t.after(async () => {
    for (const event of ["dialog", "response"]) page.removeAllListeners(event);
    await page.evaluate(() => {}); // what the page has reported arrives before
    pages.push(used);
    assert.deepEqual(wrong.splice(0), []);
  });
  return page;
}

// unfold opens the folded fields of a form.
export async function unfold(page) {
  const closed = page.locator("details.fold:not([open]) > summary:visible");
  while (await closed.count()) await closed.first().click();
}

// download follows a link to a file, and returns the name under which the browser saves it and its text. The text is that of a
// request of its own: on a busy machine the browser has given up a file that it had begun to save, once in hundreds of runs.
export async function download(page, link) {
  const [begun] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: link }).click()]);
  return { name: begun.suggestedFilename(), text: await (await page.request.get(begun.url())).text() };
}

// serve starts a registry whose responses a test controls.
export async function serve(t, handle) {
  const server = createServer(handle);
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${server.address().port}`;
}

// fillIn fills the form of the login.
export async function fillIn(page, { org, email, password }) {
  await page.getByLabel("Organization").fill(org);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}

// sessions has the cookies of a login for each role: contexts share it, since hashing passwords takes long.
const sessions = { anyone: [] };

// as returns a page that is logged in as "admin" or "member", or not at all as "anyone". Other tests use the session too: use
// fillIn to end or change one. A test that causes errors gets a new context, so that none arrives in the next test.
export async function as(t, role, options = {}) {
  sessions[role] ??= logIn(role);
  const page = await (options.expect ? open : reuse)(t, options);
  await page.context().addCookies(await sessions[role]);
  return page;
}

async function logIn(role) {
  const context = await (await browser).newContext({ ignoreHTTPSErrors: true, baseURL: service.url });
  const page = await context.newPage();
  await page.goto("/console/login");
  await fillIn(page, service[role]);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const cookies = await context.cookies();
  await context.close();
  return cookies;
}

// forms are those in which pages are tested: each color scheme and each width once, and with -long every pair.
export const forms = [["light", viewports.wide], ["dark", viewports.narrow]];
if (service.long) forms.push(["light", viewports.narrow], ["dark", viewports.wide]);

// accessible tests a page with axe-core in all forms, and that it does not scroll sideways. What a member sees is a part of what an
// administrator sees, and is tested with -long.
export function accessible(name, role, path, prepare = async () => {}) {
  if (role === "member" && !service.long) return;
  test(`${name} is accessible to ${role}`, async (t) => {
    const page = await as(t, role);
    await page.goto(path);
    await prepare(page);
    await assertAccessible(page);
  });
}

// becomes waits until the element matches a selector such as ":focus", which browsers set some time after a page is loaded.
export async function becomes(locator, selector) {
  await locator.and(locator.page().locator(selector)).waitFor();
  await locator.page().waitForLoadState(); // else a key that is pressed next would not reach what follows
}

// assertAccessible fails for each rule of axe-core that the page breaks in one of the forms that it has.
export async function assertAccessible(page) {
  assert.deepEqual(await violationsOf(page, forms), []);
}

// violationsOf returns what axe-core finds in a page in these forms.
export async function violationsOf(page, forms) {
  await page.waitForLoadState();
  if (forms.length === 0) return [];
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe }); // compiled once for many pages; page.evaluate compiles it for each
  await session.detach();
  const found = [];
  for (const [colorScheme, viewport] of forms) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    for (const text of await page.evaluate(violations)) found.push(`${colorScheme}, ${viewport.width} px: ${text}`);
  }
  return found;
}

// violations runs in the page.
async function violations() {
  const { violations } = await window.axe.run();
  const found = violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.html}`));
  const { scrollWidth, clientWidth } = document.documentElement;
  return scrollWidth > clientWidth ? [...found, `the page is ${scrollWidth - clientWidth} px wider than the window`] : found;
}
