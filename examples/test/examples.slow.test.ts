import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SHORT_LIVED_PGLITE } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('..', import.meta.url));

/** What each example must print; an example without an entry fails. */
const EXPECTED: Record<string, RegExp[]> = {
  'campaign.mjs': [
    /acme-spring {2,}360 of 400 sent, 40 bounced/,
    /corner-shop-spring +18 of 20 sent, 2 bounced/,
    /the service refused \d+ of \d+ calls/,
  ],
  'chat-lanes.mjs': [
    /Ada: \d+ tokens … Before this turn there were 0 messages/,
    /Grace: .* there were 2 messages/,
  ],
  'checkout.mjs': [
    /answered within 150 ms: \d+ of 42, the others got an address such as/,
    /\/api\/operations\/[0-9a-f-]{36}\/status/,
    /orders: 40 of 40/,
    /40 orders, 39 payments: 39 completed, 1 failed/,
    /1 for the clerk: order-13 \(The bank refused the card\)/,
  ],
  'flaky-service.mjs': [/answered {12}400 of 400/, /answered: 100 of 400/],
  'settle-day.mjs': [
    /settle-day\.load-harbour failed and is tried again/,
    /steps: 8 of 8/,
    /batch \d+ is DONE: 7 steps done, 1 skipped, 1 retried/,
    /asked for twice, started 1 time/,
    /1 report: 2026-07-27, 3 shops, 297\.00/,
  ],
  'traced-retry.mjs': [/GET \/report .*"retry".*"attempts":2.*"OK"/, /GET \/gone .*"ERROR"/],
};

// Shared by the examples, no example itself.
const SHARED = ['progress-bar.mjs'];

describe('examples', () => {
  const examples = readdirSync(folder).filter((name) => name.endsWith('.mjs') && !SHARED.includes(name));
  it.concurrent.each(examples)('%s runs and says what it should', async (name) => {
    expect(EXPECTED[name], `add what ${name} prints`).toBeDefined();
    const { stdout } = await run('node', [...SHORT_LIVED_PGLITE, `${folder}${name}`]);
    for (const text of EXPECTED[name] ?? []) expect(stdout).toMatch(text);
  });
});
