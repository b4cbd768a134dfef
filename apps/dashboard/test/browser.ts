import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';

/** A page that somebody looks at. */
export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  /** What the browser complained about: errors of scripts, blocked content, failed requests of assets. */
  readonly complaints: readonly string[];
}

/** How a page is opened. */
export interface OpenOptions extends BrowserContextOptions {
  /** The API key of whoever looks. */
  readonly key?: string | undefined;
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A refused request is told by the page itself, and is no fault of it. */
const REFUSED = /Failed to load resource: the server responded with a status of [45]\d\d|net::ERR_/;

/** Opens a page in a context of its own, as a new visitor would. */
export async function openPage(
  browser: Browser,
  url: string,
  { key, ...options }: OpenOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
    ...options,
  });
  if (key !== undefined)
    await context.addInitScript((secret) => sessionStorage.setItem('millrace.key', secret), key);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !REFUSED.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error.stack ?? error)));
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** Something that keeps somebody from using the page. */
interface Violation {
  readonly id: string;
  readonly impact?: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/**
 * What axe-core finds that is serious or critical, in one line each.
 * @param rules - which rules; all unless given.
 */
export async function seriousFindings(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Not by a script element: the policy of the server would block it. Not before it is needed: it is as large as the page.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  const found = await page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: Violation[] }> };
    };
    const options = { resultTypes: ['violations'], ...(only && { runOnly: { type: 'rule', values: only } }) };
    return (await axe.run(options)).violations;
  }, rules);
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}

/** Waits until a view is there with everything that it has asked for. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);
}

/** Goes to another view as a link of the page does: nothing is loaded that is there already. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => history.pushState(null, '', to), path);
  await settled(page);
}

const REGIONS_MAX = 20;
const PRESSED_AT_ONCE = 10;

/**
 * Controls that pressing Tab again and again does not come to, or that do not show that they have the focus.
 */
export async function unreachedByTab(page: Page): Promise<string[]> {
  const count = await page.evaluate(() => {
    const CONTROLS = 'a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary';
    const here = globalThis as unknown as {
      controls: Element[];
      reached: Set<Element>;
      hidden: Set<Element>;
    };
    // Of radio buttons the chosen one takes the focus, arrows go to the others.
    const takesFocus = (one: Element) =>
      one.checkVisibility() && !(one instanceof HTMLInputElement && one.type === 'radio' && !one.checked);
    here.controls = [...document.querySelectorAll(CONTROLS)].filter(takesFocus);
    here.reached = new Set();
    here.hidden = new Set();
    document.addEventListener('focusin', ({ target }) => {
      const at = target as Element;
      here.reached.add(at);
      const shown = [at, at.closest('label')].some(
        (one) => one && getComputedStyle(one).outlineStyle !== 'none',
      );
      if (!shown) here.hidden.add(at);
    });
    return here.controls.length;
  });
  const isThrough = () =>
    page.evaluate(() => {
      const { controls, reached } = globalThis as unknown as { controls: Element[]; reached: Set<Element> };
      return controls.every((one) => reached.has(one));
    });
  // Regions that scroll take the focus too.
  for (let pressed = 0; pressed < count + REGIONS_MAX && !(await isThrough()); pressed += PRESSED_AT_ONCE)
    for (let now = 0; now < PRESSED_AT_ONCE; now++) await page.keyboard.press('Tab');
  return page.evaluate(() => {
    const { controls, reached, hidden } = globalThis as unknown as {
      controls: Element[];
      reached: Set<Element>;
      hidden: Set<Element>;
    };
    const missed = controls.filter((one) => one.isConnected && !reached.has(one));
    return [...missed, ...hidden].map((one) => one.outerHTML.slice(0, 200));
  });
}
