import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const program = fileURLToPath(new URL('../dist/run.js', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));
const chaos = (...args: string[]) => run('node', [program, ...args], { cwd: root });

describe('npm run chaos', () => {
  it('runs every scenario scaled down, says so, and every invariant holds', {
    timeout: 300_000,
  }, async () => {
    const { stdout } = await chaos('--short', '--seed', '7');
    for (const fault of ['bound', 'restart', 'client-kill', 'freeze', 'lost-replies']) {
      expect(stdout).toMatch(new RegExp(`redis-queue-${fault} .*I1 no loss .*yes`));
      expect(stdout).toMatch(new RegExp(`redis-queue-${fault} .*I2 one delivery .*yes`));
    }
    for (const fault of ['workers-killed', 'half-killed', 'redis-killed', 'redis-frozen', 'memory-full'])
      expect(stdout).toMatch(new RegExp(`bulk-${fault} .*I1 no loss .*yes`));
    for (const fault of ['redis-killed-everysec', 'disk-full', 'service-down', 'one-key'])
      expect(stdout).toMatch(new RegExp(`bulk-${fault} .*I1 no loss .*yes`));
    expect(stdout).toMatch(/bulk-cluster-failover .*I1 no loss .*yes/);
    expect(stdout).toMatch(/bulk-cluster-killed .*I2 counted exactly once .*yes/);
    expect(stdout).toMatch(/bulk-cluster-skew .*I7 the global rate over all shards .*yes/);
    expect(stdout).toMatch(/outbox-exactly-once .*exactly one row per task .*yes/);
    expect(stdout).toMatch(/orchestrator-kills .*I2 exactly one outcome .*yes/);
    expect(stdout).toMatch(/orchestrator-kills .*batches: exactly one effect .*yes/);
    expect(stdout).toMatch(/server-campaign .*I2 exactly one outcome .*yes/);
    expect(stdout).toMatch(/server-campaign .*totals are those of the ledger .*yes/);
    expect(stdout).toMatch(/abort-storm .*I1 no loss .*yes/);
    expect(stdout).toMatch(/runner-killed .*I11 shutdown ends in time .*yes/);
    expect(stdout).toContain('seed 7, scale 0.05');
  });

  it('names the scenarios it knows when asked for another', async () => {
    const failure = await chaos('meteor').catch((error: { code: number; stderr: string }) => error);
    expect(failure).toMatchObject({ code: 2 });
    expect(failure.stderr).toContain('abort-storm');
  });
});
