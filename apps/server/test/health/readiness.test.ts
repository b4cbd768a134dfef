import type { HealthBody } from '@millrace/contract';
import { silentLogger } from '@millrace/foundation';
import { latch, ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { ServerParts } from '../../src/compose/parts.js';
import { Readiness } from '../../src/health/readiness.js';

/** A readiness whose database answers as a test says. */
function readinessOf(query: () => Promise<unknown>) {
  const clock = new ManualClock();
  const draining = { isDraining: false };
  const parts = { clock, draining, config: {}, database: { query }, log: silentLogger };
  return { clock, draining, readiness: new Readiness(parts as unknown as ServerParts) };
}

describe('Readiness', () => {
  it('without Redis looks at the database only', async () => {
    const { readiness } = readinessOf(async () => ({}));
    expect(await readiness.look()).toEqual<HealthBody>({
      ok: true,
      checks: [{ name: 'database', ok: true, message: null, since: null }],
    });
  });

  it('says since when something is wrong, and forgets it when it is well', async () => {
    let answer: () => Promise<unknown> = async () => ({});
    const { clock, readiness } = readinessOf(() => answer());
    answer = () => Promise.reject(new Error('connecting to postgres://me:secret@db/x failed'));
    const first = await readiness.look();
    expect(first.ok).toBe(false);
    expect(first.checks[0]).toMatchObject({
      message: 'connecting to postgres://***@db/x failed',
      since: new Date(clock.now()).toISOString(),
    });
    await clock.advance(1_000);
    expect((await readiness.look()).checks[0]?.since).toBe(first.checks[0]?.since);
    answer = async () => ({});
    await clock.advance(1_000);
    expect((await readiness.look()).checks[0]).toMatchObject({ ok: true, since: null });
  });

  it('asks a backend once for all who ask at once, and one that hangs not again', async () => {
    let asked = 0;
    const answered = latch('answered');
    const { clock, readiness } = readinessOf(() => {
      asked++;
      return answered.promise;
    });
    for (let round = 0; round < 3; round++) {
      const looks = [readiness.look(), readiness.look()];
      await clock.advance(1_000);
      for (const { checks } of await Promise.all(looks))
        expect(checks[0]).toMatchObject({ ok: false, message: 'No answer within 1000 ms' });
    }
    expect(asked).toBe(1);
    answered.open();
    await clock.advance(1_000);
    expect((await readiness.look()).ok).toBe(true);
  });

  it('is not ready when it is about to stop', async () => {
    const { draining, readiness } = readinessOf(async () => ({}));
    draining.isDraining = true;
    const { ok, checks } = await readiness.look();
    expect(ok).toBe(false);
    expect(checks.at(-1)).toMatchObject({ name: 'stopping', ok: false });
  });
});
