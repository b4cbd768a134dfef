import type { Locator, Page } from 'playwright-core';
import type { Deed } from './visit.js';

/** One thing that a visitor does. */
export interface Step {
  readonly name: string;
  readonly does: Deed;
  /** What the server is asked for by it, and takes its time for; undefined: everything is there with the paint. */
  readonly asksFor?: string;
}

/** What a visitor does on one view, in order. */
export interface Walk {
  readonly path: string;
  /** Its beginning: the view with what it is about, as CSS. */
  readonly ready: string;
  readonly steps: readonly Step[];
}

const OPEN_DIALOG = 'dialog[open]';
const WITHOUT_DIALOG = 'body:not(:has(dialog[open]))';
const SHARES = '[role=table][aria-label="Shares of tenants"]';
const GROUPS = '[role=table][aria-label="Groups"]';
const GROUP_LINK = `${GROUPS} [aria-rowindex="2"] a[title]`;
const LETTER = 'ul[aria-label="Letters"] li:first-child input[type=checkbox]';

const button = (page: Page, name: string | RegExp): Locator => page.getByRole('button', { name }).first();

/** Presses a button, and says what it leads to. */
const press =
  (name: string | RegExp, shown: string): Deed =>
  async (page) => {
    await button(page, name).click();
    return page.locator(shown);
  };

const closeDialog: Step = {
  name: 'close the dialog',
  async does(page) {
    await page.keyboard.press('Escape');
    return page.locator(WITHOUT_DIALOG);
  },
};

/** To the next page of a list, whose first entry is then another one. */
const older =
  (first: string, attribute: string): Deed =>
  async (page) => {
    const before = await page.locator(first).getAttribute(attribute);
    await button(page, 'Older').click();
    return page.locator(`${first}:not([${attribute}="${before}"])`);
  };

/** Who gets which share, and the list of groups. */
export const GROUPS_WALK: Walk = {
  path: '/groups',
  ready: GROUP_LINK,
  steps: [
    { name: 'show all tenants', does: press(/^Show all \d/, 'button:text-matches("^Show the first")') },
    {
      name: 'scroll their list',
      async does(page) {
        await page.locator(SHARES).hover({ position: { x: 200, y: 200 } });
        for (let turn = 0; turn < 10; turn++) await page.mouse.wheel(0, 300);
        return page.locator(SHARES);
      },
    },
    {
      name: 'type the name of a tenant',
      async does(page) {
        await page.getByLabel('Tenant', { exact: true }).focus();
        await page.keyboard.type('customer-007');
        await page.keyboard.press('Enter');
        return page.locator(`${GROUPS} [aria-rowindex="2"]:has-text("customer-007")`);
      },
      asksFor: 'rows',
    },
    {
      name: 'show all groups again',
      does: press('All groups', `${GROUPS} [aria-rowindex="2"]:not(:has-text("customer-007"))`),
      asksFor: 'rows',
    },
    { name: 'next page', does: older(GROUP_LINK, 'title'), asksFor: 'rows' },
    {
      name: 'choose a state',
      async does(page) {
        await page.getByLabel('Status', { exact: true }).focus();
        await page.keyboard.press('r');
        // Of the newest groups most have ended.
        return page.locator(`${GROUPS}:has(button[title^="Cancel "]):not(:has(:text("Completed")))`);
      },
      asksFor: 'rows',
    },
    { name: 'open the limits of a group', does: press(/^Limits of open-/, OPEN_DIALOG) },
    closeDialog,
    {
      name: 'pause or resume a group',
      async does(page) {
        const pressed = button(page, /^(Pause|Resume) open-/);
        const [does = '', id] = ((await pressed.getAttribute('title')) ?? '').split(' ');
        await pressed.click();
        return page.locator(`button[title="${does === 'Pause' ? 'Resume' : 'Pause'} ${id}"]`);
      },
      asksFor: 'its new state',
    },
  ],
};

/** Failures by cause, and the letters of one. */
export const DEAD_LETTERS_WALK: Walk = {
  path: '/dead-letters',
  ready: 'button[aria-label^="Samples of "]',
  steps: [
    {
      name: 'open the samples of a cause',
      does: press(/^Samples of /, 'ul[aria-label="The newest letters"] li'),
      asksFor: 'letters',
    },
    { name: 'open the redrive of all', does: press(/^Redrive all /, OPEN_DIALOG) },
    closeDialog,
    {
      name: 'go to the letters of a cause',
      async does(page) {
        await page.getByRole('article').first().getByRole('link').first().click();
        return page.locator(LETTER);
      },
      asksFor: 'letters',
    },
    {
      name: 'choose a letter',
      async does(page) {
        await page.locator(LETTER).click();
        return page.locator('button[aria-label^="Redrive 1…"]');
      },
    },
    {
      name: 'look at its payload',
      does: press(/^Payload of /, 'button[aria-label^="Payload of "][aria-expanded=true]'),
    },
    { name: 'next page', does: older(LETTER, 'aria-label'), asksFor: 'letters' },
  ],
};

const goTo = (name: string): Step => ({
  name: `go to ${name}`,
  async does(page) {
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click();
    return page.locator(`h1:text-is("${name}")`);
  },
  asksFor: 'its heading',
});

const changeTheme: Step = {
  name: 'change the theme',
  does: press(/ theme; |^Theme of /, 'html'),
};

/** From view to view, and back to the first. */
export const VIEWS_WALK: Walk = {
  path: '/',
  ready: 'h1',
  steps: [
    goTo('Groups'),
    goTo('Dead letters'),
    goTo('Batches'),
    goTo('Operations'),
    goTo('Overview'),
    changeTheme,
  ],
};
