import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { FAULTS } from '../src/faults.js';
import { matrixOf, summaryOf } from '../src/matrix.js';
import type { Outcome } from '../src/registry.js';

const run = promisify(execFile);
const program = fileURLToPath(new URL('../dist/run.js', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));
const results = join(root, '.results/chaos/all.json');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run that ends with another code than 0 is an answer too: its verdicts say more than its code. */
const chaos = (...args: string[]): Promise<Ended> =>
  run('node', [program, ...args], { cwd: root }).then(
    (said) => ({ code: 0, ...said }),
    (failure: Ended) => failure,
  );

const brokenOf = (outcomes: readonly Outcome[]): readonly string[] =>
  outcomes.flatMap(({ scenario, verdicts }) =>
    verdicts
      .filter(({ held }) => !held)
      .map(({ invariant, evidence }) => `${scenario}: ${invariant}: ${evidence}`),
  );

/** What must be among the verdicts, by scenario. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    ['bound', 'restart', 'client-kill', 'freeze', 'lost-replies'].map((fault) => [
      `redis-queue-${fault}`,
      ['I1 no loss', 'I2 one delivery'],
    ]),
  ),
  ...Object.fromEntries(
    [
      ...['workers-killed', 'half-killed', 'redis-killed', 'redis-frozen', 'memory-full'],
      ...['redis-killed-everysec', 'disk-full', 'service-down', 'one-key', 'cluster-failover'],
    ].map((fault) => [`bulk-${fault}`, ['I1 no loss']]),
  ),
  'bulk-steps-killed': ['I1 no loss', 'killed at every step'],
  'bulk-bad-processors': ['I1 no loss', 'I4 twice and crossed'],
  'bulk-hostile-tenant': ['I1 no loss', 'I6 its share of the starts', 'I15 groups of the other untouched'],
  'bulk-cluster-killed': ['I2 counted exactly once'],
  'bulk-cluster-skew': ['I7 the global rate over all shards'],
  'outbox-exactly-once': ['exactly one row per task'],
  'outbox-conflicts': ['I1 no loss', 'conflicts cost no attempt'],
  'pglite-killed': ['I1 no loss', 'opened twice: the second is refused'],
  'orchestrator-kills': ['I2 exactly one outcome', 'batches: exactly one effect'],
  'server-campaign': ['I2 exactly one outcome', 'totals are those of the ledger'],
  'rolling-layout': ['both releases work on the same data'],
  soak: ['I1 no loss', 'I2, I14 totals = accepted settlements'],
  'abort-storm': ['I1 no loss'],
  'runner-killed': ['I11 shutdown ends in time'],
};

describe('npm run chaos', () => {
  it('runs every scenario scaled down, says so, and every invariant holds', {
    timeout: 600_000,
  }, async () => {
    rmSync(results, { force: true });
    const { code, stdout, stderr } = await chaos('--short', '--seed', '7');
    const outcomes = JSON.parse(readFileSync(results, 'utf8')) as Outcome[];
    expect(brokenOf(outcomes), stderr).toEqual([]);
    expect(code, stderr).toBe(0);
    for (const { scenario, seed, scale, verdicts } of outcomes) {
      expect({ seed, scale }, scenario).toEqual({ seed: 7, scale: 0.05 });
      expect(verdicts.length, scenario).toBeGreaterThan(0);
    }
    for (const [scenario, names] of Object.entries(EXPECTED)) {
      const own = outcomes.find((outcome) => outcome.scenario === scenario)?.verdicts ?? [];
      for (const name of names)
        expect(
          own.some(({ invariant }) => invariant.endsWith(name)),
          `${scenario}: ${name}`,
        ).toBe(true);
    }
    expect(stdout).toContain('seed 7, scale 0.05');
    expect(stderr).toContain(`1 of ${outcomes.length}: ${outcomes[0]?.scenario}\n`);

    const [, leftOut = ''] = /^Not played with --short, .*: (.*)$/m.exec(stdout) ?? [];
    const known = [...outcomes.map(({ scenario }) => scenario), ...leftOut.split(', ')];
    const named = new Set(FAULTS.flatMap(({ scenarios }) => scenarios));
    expect(known.sort(), 'every scenario is one of a fault, and the reverse').toEqual([...named].sort());
    expect(stdout).toMatch(/^scenario +mode +s +I1 +I2 .* I15 +own/m);
    expect(stdout).toMatch(/^bulk-workers-killed +liveness +[\d.]+ +✓ +✓ +✓ +✓ +✓ +· +✓ +✓ +· +✓ +✓ +·/m);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(summaryOf(matrixOf(outcomes)));
  });

  it('names the scenarios it knows when asked for another', async () => {
    const failure = await chaos('meteor');
    expect(failure).toMatchObject({ code: 2 });
    expect(failure.stderr).toContain('abort-storm');
  });
});
