import type { Browser, Locator, Page } from 'playwright-core';
import { lookAgain, settledWatch, sinceInput, type Watch, watchPage } from './in-page.js';

/** A laptop. */
const VIEWPORT = { width: 1280, height: 900 };
const SHOWN_WITHIN_MS = 30_000;

/**
 * Something that a visitor does, answering what it leads to. That is found by CSS alone: to look for names of controls takes the page's own
 * time, and would be measured with it.
 */
export type Deed = (page: Page) => Promise<Locator>;

/** What came of it. */
interface Response {
  /** From an input to the paint after it, in ms; the longest of its inputs, 0 below 16. */
  readonly paintedMs: number;
  /** From the first input until what was asked for is there. */
  readonly shownMs: number;
}

/** Somebody who has never been here: nothing is cached. */
export interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** What the page knows of its own paints. */
  watched(): Promise<Watch>;
  /** Inputs and long tasks from now on. */
  lookAgain(): Promise<void>;
  /** Does something and waits for what it leads to. */
  act(deed: Deed): Promise<Response>;
}

/** Visits a view. */
export async function visit(browser: Browser, url: string): Promise<Visit> {
  const context = await browser.newContext({ viewport: VIEWPORT });
  await context.addInitScript(watchPage);
  const page = await context.newPage();
  page.setDefaultTimeout(SHOWN_WITHIN_MS);
  await page.goto(url);
  return {
    page,
    watched: () => page.evaluate(settledWatch),
    lookAgain: () => page.evaluate(lookAgain),
    async act(deed) {
      await page.evaluate(lookAgain);
      const shown = await deed(page);
      await shown.first().waitFor();
      const shownMs = await page.evaluate(sinceInput);
      const { longestInput } = await page.evaluate(settledWatch);
      return { paintedMs: longestInput, shownMs };
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}
