import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Circuit,
  type CircuitLimits,
  circuitAt,
  letThrough,
  NEW_CIRCUIT,
  reportCall,
  takeBack,
  WINDOW_PARTS,
} from '../../src/rules/circuit-breaker.js';

const LIMITS: CircuitLimits = { failureRate: 0.5, windowMs: 1_000, callsMin: 4, openMs: 500, probes: 2 };

/** Calls that are let through and end at once. */
function calls(circuit: Circuit, outcomes: string, nowMs: number, limits = LIMITS): Circuit {
  return [...outcomes].reduce((now, outcome) => {
    const next = letThrough(circuitAt(now, nowMs), limits);
    if (!next) throw new Error(`not let through while ${now.kind}`);
    return reportCall(next, limits, { epoch: next.epoch, failed: outcome === 'x', nowMs });
  }, circuit);
}

describe('orchestrator NFR-2: circuit breaker', () => {
  it('orchestrator NFR-2: opens at the failure rate and not below it, and not before callsMin calls', () => {
    expect(calls(NEW_CIRCUIT, 'xxx', 0).kind).toBe('closed');
    expect(calls(NEW_CIRCUIT, 'xxxx', 0).kind).toBe('open');
    expect(calls(NEW_CIRCUIT, '..xx', 0).kind).toBe('open');
    expect(calls(NEW_CIRCUIT, '...xx', 0).kind).toBe('closed');
    // The call that makes it callsMin may itself have gone well.
    expect(calls(NEW_CIRCUIT, 'xxx.', 0).kind).toBe('open');
    const tenth = { ...LIMITS, failureRate: 0.1, callsMin: 30 };
    expect(calls(NEW_CIRCUIT, `${'.'.repeat(27)}xxx`, 0, tenth).kind).toBe('open');
  });

  it('orchestrator NFR-2: drops calls older than the window', () => {
    const early = calls(NEW_CIRCUIT, 'xxx', 0);
    expect(calls(early, 'x', 999).kind).toBe('open');
    expect(calls(early, 'x', 1_000).kind).toBe('closed');
  });

  it('orchestrator NFR-2: keeps a bounded window however many calls there are', () => {
    let circuit: Circuit = NEW_CIRCUIT;
    for (let nowMs = 0; nowMs < 50_000; nowMs += 7) circuit = calls(circuit, '.', nowMs);
    expect(circuit.kind === 'closed' && circuit.window.length).toBe(WINDOW_PARTS);
  });

  it('orchestrator NFR-2: open → half-open after openMs, admits only `probes` calls, closes if all succeed', () => {
    const open = calls(NEW_CIRCUIT, 'xxxx', 100);
    expect(letThrough(circuitAt(open, 599), LIMITS)).toBeUndefined();
    const half = circuitAt(open, 600);
    const one = letThrough(half, LIMITS) as Circuit;
    const two = letThrough(one, LIMITS) as Circuit;
    expect(letThrough(two, LIMITS)).toBeUndefined();
    const ended = { epoch: half.epoch, failed: false, nowMs: 610 };
    const passed = reportCall(two, LIMITS, ended);
    expect(letThrough(passed, LIMITS)).toBeUndefined();
    expect(reportCall(passed, LIMITS, ended)).toMatchObject({ kind: 'closed', window: [] });
    expect(reportCall(passed, LIMITS, { ...ended, failed: true })).toMatchObject({
      kind: 'open',
      untilMs: 1_110,
    });
  });

  it('orchestrator NFR-2: frees the place of a probe that is taken back', () => {
    const half = circuitAt(calls(NEW_CIRCUIT, 'xxxx', 0), 500);
    const full = letThrough(letThrough(half, LIMITS) as Circuit, LIMITS) as Circuit;
    expect(letThrough(takeBack(full, full.epoch), LIMITS)).toEqual(full);
    expect(takeBack(full, full.epoch - 1)).toBe(full);
    expect(takeBack(NEW_CIRCUIT, 0)).toBe(NEW_CIRCUIT);
  });

  it('orchestrator NFR-2: ignores a result from an earlier epoch', () => {
    const old = { epoch: 0, failed: true, nowMs: 600 };
    const open = calls(NEW_CIRCUIT, 'xxxx', 100);
    expect(reportCall(open, LIMITS, old)).toBe(open);
    const half = circuitAt(open, 600);
    expect(reportCall(half, LIMITS, old)).toBe(half);
    const closed = calls(half, '..', 600);
    expect(closed.kind).toBe('closed');
    expect(reportCall(closed, LIMITS, old)).toBe(closed);
  });

  it('orchestrator NFR-2: behaves as a model that remembers every call', () => {
    const limits = fc.record({
      failureRate: fc.constantFrom(0.1, 0.3, 0.5, 1),
      windowMs: fc.constantFrom(100, 333, 1_000),
      callsMin: fc.integer({ min: 1, max: 6 }),
      openMs: fc.constantFrom(1, 50, 400),
      probes: fc.integer({ min: 1, max: 3 }),
    });
    const step = fc.record({
      gapMs: fc.constantFrom(0, 0, 0, 1, 17, 60, 250),
      what: fc.constantFrom('ask', 'ask', 'good', 'bad', 'back'),
      which: fc.nat(20),
    });
    const seen = new Set<string>();
    fc.assert(
      fc.property(limits, fc.array(step, { maxLength: 120 }), (given, steps) => {
        let circuit: Circuit = NEW_CIRCUIT;
        const model = new RememberingBreaker(given);
        const out: { epoch: number; call: object }[] = [];
        let nowMs = 0;
        for (const { gapMs, what, which } of steps) {
          nowMs += gapMs;
          circuit = circuitAt(circuit, nowMs);
          if (what === 'ask') {
            const next = letThrough(circuit, given);
            const call = model.ask(nowMs);
            expect(next !== undefined).toBe(call !== undefined);
            if (next && call) out.push({ epoch: next.epoch, call });
            circuit = next ?? circuit;
          } else if (out.length > 0) {
            const [{ epoch, call }] = out.splice(which % out.length, 1) as [(typeof out)[number]];
            model.end(call, what, nowMs);
            circuit =
              what === 'back'
                ? takeBack(circuit, epoch)
                : reportCall(circuit, given, { epoch, failed: what === 'bad', nowMs });
          }
          expect(circuit.kind).toBe(model.kind(nowMs));
          seen.add(circuit.kind);
        }
      }),
      { numRuns: 500 },
    );
    expect([...seen].sort()).toEqual(['closed', 'half-open', 'open']);
  });
});

/** Written in another way than the rule: all calls are kept, and phases are objects that calls belong to. */
class RememberingBreaker {
  #phase: {
    name: 'closed' | 'open' | 'half-open';
    sinceMs: number;
    ended: { atMs: number; bad: boolean }[];
    out: Set<object>;
  } = { name: 'closed', sinceMs: 0, ended: [], out: new Set() };

  constructor(readonly limits: CircuitLimits) {}

  kind(nowMs: number): string {
    if (this.#phase.name === 'open' && nowMs - this.#phase.sinceMs >= this.limits.openMs)
      this.#enter('half-open', nowMs);
    return this.#phase.name;
  }

  ask(nowMs: number): object | undefined {
    const name = this.kind(nowMs);
    const tries = this.#phase.out.size + this.#phase.ended.length;
    if (name === 'open' || (name === 'half-open' && tries >= this.limits.probes)) return undefined;
    const call = {};
    this.#phase.out.add(call);
    return call;
  }

  end(call: object, what: string, nowMs: number): void {
    this.kind(nowMs);
    if (!this.#phase.out.delete(call) || what === 'back') return;
    const { name, ended } = this.#phase;
    ended.push({ atMs: nowMs, bad: what === 'bad' });
    if (name === 'half-open') {
      if (what === 'bad') this.#enter('open', nowMs);
      else if (ended.length === this.limits.probes) this.#enter('closed', nowMs);
      return;
    }
    const tenth = this.limits.windowMs / 10;
    const windowStartMs = (Math.floor((nowMs * 10) / this.limits.windowMs) - 9) * tenth;
    const recent = ended.filter(({ atMs }) => atMs >= windowStartMs - 1e-9);
    const bad = recent.filter((each) => each.bad).length;
    if (recent.length >= this.limits.callsMin && bad / recent.length >= this.limits.failureRate)
      this.#enter('open', nowMs);
  }

  #enter(name: 'closed' | 'open' | 'half-open', sinceMs: number): void {
    this.#phase = { name, sinceMs, ended: [], out: new Set() };
  }
}
