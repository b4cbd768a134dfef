import { BulkActionEngine, type GroupView, type JobView } from '@millrace/bulk-action';
import { seededRng } from '@millrace/foundation';
import type { LedgerEntry } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import {
  checkPayloads,
  checkRefused,
  checkShare,
  checkUntouched,
  type Start,
  serviceOf,
  startsOf,
} from '../src/bulk/check-tenants.js';
import type { Evidence } from '../src/bulk/evidence.js';
import { fillUp, hostileInputs, ODD_PAYLOADS } from '../src/bulk/hostile-input.js';
import { HostileTenant } from '../src/bulk/hostile-tenant.js';
import { planJob } from '../src/bulk/plan.js';

const entry = (kind: string, fields: object): LedgerEntry => ({ kind, at: 1, pid: 1, seq: 1, ...fields });

/** One letter per start: g and e are those of good and evil, G is a good one's retry, _ is one that nobody wrote down. */
const served = (letters: string): Start[] =>
  [...letters].flatMap((letter, index) =>
    letter === '_'
      ? []
      : [{ token: index + 1, tenant: letter === 'e' ? 'evil' : 'good', isFirst: letter !== 'G' }],
  );

describe('the checkers of a hostile tenant', () => {
  it('measure shares while both waited, in the order of the store', () => {
    expect(serviceOf(served('egegegeg'), 'good', 1)).toEqual({ starts: 8, share: 0.5, lag: 1, unknown: 0 });
    // After its last first start the other one has the rest, and a late retry changes nothing.
    expect(serviceOf(served('egegeeeeeG'), 'good', 1)).toMatchObject({ starts: 4, share: 0.5 });
    expect(serviceOf(served('eeeegege'), 'good', 5)).toMatchObject({ starts: 3, lag: 1 });
    expect(serviceOf(served('g_e_g'), 'good', 1)).toMatchObject({ starts: 3, unknown: 2 });
    const leases = [3, 1, 1].map((token) =>
      entry('leased', { job: token === 1 ? 'good/x#a' : 'evil/x#a', token, attempt: token }),
    );
    expect(startsOf([...leases, entry('began', { job: 'good/x#a' })])).toEqual([
      { token: 1, tenant: 'good', isFirst: true },
      { token: 3, tenant: 'evil', isFirst: false },
    ]);
  });

  it('see a share that is too small, a wait that is too long, and too few starts to say', () => {
    const share = (letters: string, startsMin = 4) =>
      checkShare(serviceOf(served(letters), 'good', 1), startsMin);
    expect(share('egegegeg')).toMatchObject({ held: true });
    expect(share('egeegeegeeg')).toMatchObject({ held: false });
    expect(share('egegegeeeeggggeg')).toMatchObject({ held: false });
    expect(share('eg')).toMatchObject({ held: false });
    expect(share('')).toMatchObject({ held: false });
  });

  it('see a call that was taken, one that was refused by another code, and a code that nobody met', () => {
    const attempt = (expected: string, got: string) => ({ what: 'x', expected, got });
    expect(checkRefused([attempt('ID_INVALID', 'ID_INVALID')], ['ID_INVALID'])).toMatchObject({ held: true });
    expect(checkRefused([attempt('ID_INVALID', 'accepted')], [])).toMatchObject({ held: false });
    expect(checkRefused([attempt('ID_INVALID', 'HANDLER_FAILED')], [])).toMatchObject({ held: false });
    expect(checkRefused([], ['QUEUE_FULL'])).toMatchObject({ held: false });
  });

  it('see a payload that was changed on its way, mixed up with another, or never given', () => {
    const sent = new Map([['good/x#a', 'p1']]);
    const given = (print: string) => entry('given', { job: 'good/x#a', print });
    expect(checkPayloads(sent, [given('p1'), given('p1')], sent)).toMatchObject({ held: true });
    expect(checkPayloads(sent, [given('p1'), given('p2')], sent)).toMatchObject({ held: false });
    expect(checkPayloads(sent, [], sent)).toMatchObject({ held: false });
    expect(checkPayloads(sent, [given('p1')], new Map([['good/x#a', 'p2']]))).toMatchObject({ held: false });
  });

  it('see a group that was changed, ended, filled or shown by another', () => {
    const counts = { registered: 2, success: 1, failed: 1 };
    const view = { id: 'good/x', status: 'COMPLETED', round: 1, weight: 1, paused: false, counts };
    const jobs = ['good/x#a', 'good/x#b'];
    const evidence = (changes: object = {}, names = jobs) =>
      ({
        plan: {
          groups: [
            {
              input: { id: 'good/x' },
              jobs: [planJob('a', { does: 'works', ms: 1 }), planJob('b', { does: 'fails-always', ms: 1 })],
            },
          ],
        },
        groups: [{ ...view, ...changes } as unknown as GroupView],
        jobs: new Map(names.map((name) => [name, {} as JobView])),
      }) as unknown as Evidence;
    expect(checkUntouched(evidence(), 'good', ['evil/x'])).toMatchObject({ held: true });
    for (const changes of [
      { status: 'CANCELLED' },
      { paused: true },
      { round: 2 },
      { weight: 5 },
      { rps: 1 },
      { counts: { ...counts, success: 0 } },
    ])
      expect(checkUntouched(evidence(changes), 'good', [])).toMatchObject({ held: false });
    expect(checkUntouched(evidence({}, [...jobs, 'good/x#c']), 'good', [])).toMatchObject({ held: false });
    expect(checkUntouched(evidence(), 'good', ['good/x'])).toMatchObject({ held: false });
  });
});

describe('hostile input', () => {
  it('has payloads that JSON gives back as they are, the largest exactly as large as may be', () => {
    for (const [, make] of ODD_PAYLOADS) {
      const text = JSON.stringify(make());
      expect(JSON.stringify(JSON.parse(text))).toBe(text);
    }
    expect(Buffer.byteLength(JSON.stringify(fillUp({ does: 'works' }, 'cargo')))).toBe(262_144);
  });

  it('names each attack once, so that a complaint says which it was', () => {
    const names = hostileInputs('good').map(({ what }) => what);
    expect(names.length).toBeGreaterThan(70);
    expect(new Set(names).size).toBe(names.length);
  });

  it('is refused by an engine in memory as by one on Redis, and leaves nothing behind', async () => {
    await using engine = new BulkActionEngine({ config: { workerPool: { enabled: false } } });
    await engine.start();
    const hostile = new HostileTenant(engine, seededRng(1));
    await hostile.attack('good');
    expect(checkRefused(hostile.attempts, ['PAYLOAD_TOO_LARGE'])).toMatchObject({ held: true });
    expect(await engine.service.listGroups()).toEqual({ items: [] });
  });
});
