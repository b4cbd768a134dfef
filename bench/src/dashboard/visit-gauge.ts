import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import type { Gauge } from '../gauges.js';
import type { Stage } from './stage.js';
import { type Visit, visit } from './visit.js';
import type { Step, Walk } from './walks.js';

/** The bars of the issue. */
const FIRST_PAINT_MS = 1_500;
const INTERACTION_MS = 200;
const SCRIPT_KB = 200;

const VISIT_READINGS = [
  { name: 'its scripts, gzipped', unit: 'KB', most: SCRIPT_KB },
  { name: 'first contentful paint', unit: 'ms', most: FIRST_PAINT_MS, everyRun: true },
  { name: 'largest contentful paint', unit: 'ms' },
  { name: 'what it is about is there', unit: 'ms' },
  { name: 'tasks above 50 ms while it is only looked at', unit: '' },
  { name: 'the longest of them', unit: 'ms' },
];

/**
 * A new visitor of a view: how soon it is seen, what keeps it from answering while it is only looked at, and how soon it shows that it
 * was touched.
 * @param looksMs - how long the visitor only looks.
 */
export const visitGauge = (
  staged: () => Promise<Stage>,
  { path, ready, steps }: Walk,
  looksMs: number,
): Gauge => ({
  work: `visit ${path}`,
  readings: [
    ...VISIT_READINGS,
    ...steps.flatMap(({ name, asksFor }) => [
      { name: `${name}: painted`, unit: 'ms', most: INTERACTION_MS, everyRun: true },
      ...(asksFor === undefined ? [] : [{ name: `${name}: ${asksFor}`, unit: 'ms' }]),
    ]),
  ],
  async run() {
    const { browser, url } = await staged();
    await using visitor = await visit(browser, url + path);
    const { page } = visitor;
    await page.locator(ready).first().waitFor();
    const readyMs = await page.evaluate(() => performance.now());
    const { first, largest } = await visitor.watched();
    await visitor.lookAgain();
    await pause(looksMs);
    const { longTasks } = await visitor.watched();
    return [
      ...[await scriptKb(page), first, largest, readyMs, longTasks.length, Math.max(0, ...longTasks)],
      ...(await walked(visitor, steps)),
    ];
  },
});

async function walked(visitor: Visit, steps: readonly Step[]): Promise<readonly number[]> {
  const readings: number[] = [];
  for (const { name, does, asksFor } of steps) {
    const { paintedMs, shownMs } = await visitor.act(does).catch((cause) => {
      throw new Error(`'${name}' came to nothing on ${visitor.page.url()}`, { cause });
    });
    readings.push(paintedMs, ...(asksFor === undefined ? [] : [shownMs]));
  }
  return readings;
}

const sizes = new Map<string, Promise<number>>();

/** What the page has loaded so far, as a server that compresses sends it. */
async function scriptKb(page: Page): Promise<number> {
  const names = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .map(({ name }) => name)
      .filter((name) => name.endsWith('.js')),
  );
  let bytes = 0;
  for (const name of names) {
    const size = sizes.get(name) ?? gzippedSize(name);
    sizes.set(name, size);
    bytes += await size;
  }
  return bytes / 1000;
}

async function gzippedSize(url: string): Promise<number> {
  const script = await fetch(url);
  return gzipSync(Buffer.from(await script.arrayBuffer())).length;
}
