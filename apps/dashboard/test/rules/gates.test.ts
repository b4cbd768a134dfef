import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Explanation, gateDetail, gateText, isWaiting } from '../../src/rules/gates.js';

const ENGINE = new URL('../../../../packages/bulk-action/src/rules/explain.ts', import.meta.url);

/** The names as the engine has them: the page imports nothing of it. */
function engineGates(): readonly string[] {
  const [, names = ''] = /export type GateName =([^;]+);/.exec(readFileSync(ENGINE, 'utf8')) ?? [];
  return [...names.matchAll(/'(\w+)'/g)].map(([, name]) => name as string);
}

function explanationOf(given: { reason?: string; position?: Partial<Explanation['position']> }): Explanation {
  return {
    job: { reason: given.reason ?? null } as Explanation['job'],
    gate: 'TURN',
    gates: [],
    position: { jobsAhead: 0, groupsAhead: 0, tenantsAhead: 0, ...given.position },
    etaMs: null,
  };
}

const gateOf = (gate: string, detail: string) => ({ gate, detail, opensInMs: null });

describe('gates', () => {
  it('has words and advice for every gate of the engine', () => {
    const gates = engineGates();
    expect(gates.length).toBeGreaterThan(15);
    for (const gate of gates) {
      const { name, advice } = gateText(gate);
      expect(advice, gate).not.toBe('');
      expect(name, gate).not.toMatch(/_|^[A-Z ]+$/);
    }
    expect(new Set(gates.map((gate) => gateText(gate).name)).size).toBe(gates.length);
  });

  it('keeps the name of a gate that nobody knows', () => {
    expect(gateText('MOON_PHASE')).toEqual({ name: 'Moon phase', advice: '', tone: 'hold' });
    expect(gateText('constructor').advice).toBe('');
  });

  it('colours an end by how it ended', () => {
    expect(gateText('DONE', 'COMPLETED').tone).toBe('ok');
    expect(gateText('DONE', 'FAILED').tone).toBe('fail');
  });

  it('says why a job waits for a time instead of the name of the reason', () => {
    const explanation = explanationOf({ reason: 'API_THROTTLED' });
    expect(gateDetail(gateOf('BACK_OFF', 'API_THROTTLED, due in 1234 ms'), explanation)).toBe(
      'The service it calls refused it for now',
    );
    expect(gateDetail(gateOf('BACK_OFF', 'as it was'), explanationOf({}))).toBe('as it was');
  });

  it('names those who come first, and nobody else', () => {
    const first = (position: Partial<Explanation['position']>) =>
      gateDetail(gateOf('TURN', 'as it was'), explanationOf({ position }));
    expect(first({ jobsAhead: 14_683 })).toBe('14,683 jobs of its group come first');
    expect(first({ tenantsAhead: 1 })).toBe('1 tenant comes first');
    expect(first({ jobsAhead: 1, groupsAhead: 2, tenantsAhead: 3 })).toBe(
      '1 job of its group, 2 groups of its tenant and 3 tenants come first',
    );
    expect(first({})).toBe('as it was');
  });

  it('writes times as people do', () => {
    const detail = "'mail' asked to be left alone for 61000 ms";
    expect(gateDetail(gateOf('RESOURCE_FROZEN', detail), explanationOf({}))).toBe(
      "'mail' asked to be left alone for 1 min 1 s",
    );
  });

  it('knows what waits', () => {
    expect(['DONE', 'RUNNING', 'TURN', 'PAUSED'].map((gate) => isWaiting({ gate }))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});
