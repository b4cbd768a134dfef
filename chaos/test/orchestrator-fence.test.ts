import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '@millrace/foundation';
import { inline, OrchestratorService, RouteExecutor } from '@millrace/orchestrator';
import { migrateOrchestrator, PostgresOperationStore } from '@millrace/orchestrator/postgres';
import { migrateOutbox } from '@millrace/outbox';
import { PgDatabase } from '@millrace/postgres';
import { latch, ManualClock, openLedger, postgresSandbox, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { checkOneOutcome } from '../src/orchestrator/check-ends.js';
import { checkExecutions, checkStaleRefused } from '../src/orchestrator/check-runs.js';
import { gatherEvidence } from '../src/orchestrator/evidence.js';
import type { Plan } from '../src/orchestrator/plan.js';
import { ownerOf } from '../src/orchestrator/settings.js';
import { USER_TABLES } from '../src/orchestrator/tables.js';

const payload = { ms: 0, heedless: true, failures: 0, forgotten: false };
const plan: Plan = {
  commands: [{ key: 'k', event: 'AGAIN', dueMs: 0, budgetMs: 50, callers: 1, payload }],
  kills: [],
};
const DEADLINE = { deadlineMs: 15_000, intervalMs: 20 };
const LEASE_MS = 300;

/** Instances on one database whose runs are named by them; that of the first one ends when it may. */
async function openInstances(url: string, ledgerPath: string) {
  const database = new PgDatabase({ url, poolSize: 20 });
  await migrateOutbox(database);
  await migrateOrchestrator(database);
  await database.transaction((tx) => tx.script(USER_TABLES));
  const ledger = openLedger(ledgerPath);
  const mayEnd = latch('the first run may end');
  const ended = latch('the first run has ended');
  const open = (number: number, clock?: Clock) => {
    const run = `${number}-1`;
    const handle = inline(async (_, { opId }) => {
      ledger.append({ kind: 'began', run, op: opId, event: 'AGAIN' });
      if (number === 1) await mayEnd.promise;
      ledger.append({ kind: 'effect', run, op: opId });
      ledger.append({ kind: 'ended', run, op: opId, how: 'done' });
      if (number === 1) ended.open();
      return { run };
    });
    return new OrchestratorService({
      // The clock of the tries stands still, too: a run that is held is not too late.
      executor: new RouteExecutor({ routes: { 'WORK.AGAIN': handle }, clock }),
      store: new PostgresOperationStore({ database }),
      owner: ownerOf(number),
      leaseMs: LEASE_MS,
      reaperIntervalMs: 50,
      gracePeriodMs: 1000,
      clock,
    });
  };
  const close = async () => {
    await database.stop();
    ledger.close();
  };
  return { database, open, mayEnd, ended, [Symbol.asyncDispose]: close };
}

/**
 * An instance falls silent while it runs an operation, another one completes that, and the run of the first one ends.
 * @param before - what is done to the operation just before that end.
 */
async function staleRun(before: (database: PgDatabase) => Promise<unknown>) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-fence-'));
  const ledgerPath = join(folder, 'ledger');
  try {
    await using sandbox = await postgresSandbox();
    await using instances = await openInstances(sandbox.url, ledgerPath);
    // Its clock stands still, so its leases are never extended.
    const clock = new ManualClock();
    await using silent = instances.open(1, clock);
    await silent.options.store.start();
    const command = { domain: 'WORK', eventType: 'AGAIN', bizKey: 'k', idemKey: 'k', payload };
    // Its clock never reaches the budget; the database is given this long, however busy it is.
    const submitted = silent.submit(command, 5_000);
    await using other = instances.open(2);
    await other.start();
    await until(async () => (await other.operations.counts()).byState.COMPLETED === 1, {
      what: 'another instance to complete the operation',
      ...DEADLINE,
    });
    await before(instances.database);
    instances.mayEnd.open();
    await instances.ended.wait(DEADLINE.deadlineMs);
    const handle = await submitted;
    const found = await gatherEvidence(plan, { url: sandbox.url, ledgerPath });
    // All instances are in this process; a run is named by its own.
    const runs = found.testimony.runs.map((run) => ({ ...run, pid: Number(run.run.split('-')[0]) }));
    return { handle, evidence: { ...found, testimony: { ...found.testimony, runs } } };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const REOPEN = `
  UPDATE millrace.operation SET state = 'IN_PROGRESS', ended_at = NULL, outcome = NULL, settled_as = NULL, token = 1, owner = '${ownerOf(1)}',
    lease_from = clock_timestamp(), lease_until = clock_timestamp() + interval '1 minute'`;

describe('orchestrator NFR-2: the fence of a settlement', { timeout: 60_000 }, () => {
  it('keeps a run that lost its operation from changing anything', async () => {
    const { handle, evidence } = await staleRun(async () => {});
    expect(handle.responseBodyOrNull).toMatchObject({ type: 'Ok', data: { run: '2-1' } });
    expect(checkOneOutcome(evidence)).toMatchObject({ held: true });
    expect(checkStaleRefused(evidence)).toMatchObject({
      held: true,
      evidence: "1 results, each of the owner's run; 1 runs ended in vain",
    });
    expect(checkExecutions(evidence).evidence).toContain('2 runs, 1 of them repeats; 1 losses');
  });

  it('is missing where it is broken, and the checkers see the second outcome', async () => {
    const { evidence } = await staleRun((database) => database.query(REOPEN));
    expect(checkOneOutcome(evidence).evidence).toContain('k ended 2 times');
    expect(checkStaleRefused(evidence).evidence).toContain('k has token 1');
  });
});
