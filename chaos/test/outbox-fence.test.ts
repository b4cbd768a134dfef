import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrateOutbox, Outbox } from '@millrace/outbox';
import { PgDatabase } from '@millrace/postgres';
import { latch, ManualClock, openLedger, postgresSandbox, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { checkOneRowEach } from '../src/outbox/check-effects.js';
import { gatherEvidence } from '../src/outbox/evidence.js';
import { definitionOf } from '../src/outbox/open-outbox.js';
import { Performer, type TaskResult } from '../src/outbox/perform.js';
import type { Plan } from '../src/outbox/plan.js';
import { USER_TABLES } from '../src/outbox/tables.js';

const script = { does: 'works', ms: 1, writes: 'first', heedless: true } as const;
const plan: Plan = {
  dags: [{ name: 'lone', tasks: [{ key: 't0', after: [], mode: 'transactional' }] }],
  batches: [{ bizKey: 'b', dag: 'lone', dueMs: 0, push: 'alone', payload: { scripts: { t0: script } } }],
};

/** Holds the first run between its row and its end. */
class HeldPerformer extends Performer {
  readonly rowWritten = latch('the first run has written its row');
  readonly mayEnd = latch('the first run may end');
  #isFirst = true;

  override async transactional(...given: Parameters<Performer['transactional']>): Promise<TaskResult> {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const result = await super.transactional(...given);
    if (isFirst) {
      this.rowWritten.open();
      await this.mayEnd.promise;
    }
    return result;
  }
}

/**
 * A worker falls silent after its run has written its row, another one completes the task, and the run of the first one ends.
 * @param before - what is done to the task just before that end, told under which claim the run began.
 */
async function staleRun(before: (database: PgDatabase, claimId: string) => Promise<unknown>) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-fence-'));
  const ledgerPath = join(folder, 'ledger');
  try {
    await using sandbox = await postgresSandbox();
    using ledger = openLedger(ledgerPath);
    await using database = new PgDatabase({ url: sandbox.url, poolSize: 20 });
    await migrateOutbox(database);
    await database.transaction((tx) => tx.script(USER_TABLES));
    const performer = new HeldPerformer(ledger, folder);
    const ended: string[] = [];
    const open = (leaseMs: number, clock?: ManualClock) => {
      const dags = plan.dags.map((dag) => definitionOf(dag, performer));
      const outbox = new Outbox({ database, dags, leaseMs, concurrency: 2, clock });
      outbox.events.on('task', ({ result }) => ended.push(result));
      return outbox;
    };

    // Its clock stands still, so its leases are never extended.
    await using silent = open(300, new ManualClock());
    await silent.registry.save();
    await silent.pusher.start('lone', 'b', plan.batches[0]?.payload);
    await silent.start();
    await performer.rowWritten.wait(15_000);
    const { rows } = await database.query<{ claim_id: string }>('SELECT claim_id FROM millrace.outbox_evt');
    await using other = open(3000);
    await other.start();
    await until(() => ended.length === 1, { what: 'another run to complete the task', deadlineMs: 15_000 });
    await before(database, String(rows[0]?.claim_id));
    performer.mayEnd.open();
    await until(() => ended.length === 2, { what: 'the first run to end', deadlineMs: 15_000 });
    return { ended, verdict: checkOneRowEach(await gatherEvidence(plan, { url: sandbox.url, ledgerPath })) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('outbox OB-6: the fence of a completion', { timeout: 60_000 }, () => {
  it('takes back the row of a run that lost its claim', async () => {
    const { ended, verdict } = await staleRun(async () => {});
    expect(ended).toEqual(['done', 'lost']);
    expect(verdict).toMatchObject({
      held: true,
      evidence: '1 transactional tasks done, 1 rows; 0 not done, no row',
    });
  });

  it('is missing where it is broken, and the checker sees the row twice', async () => {
    const { ended, verdict } = await staleRun((database, claimId) =>
      database.query("UPDATE millrace.outbox_evt SET status = 'PROCESSING', claim_id = $1", [claimId]),
    );
    expect(ended).toEqual(['done', 'done']);
    expect(verdict.held).toBe(false);
    expect(verdict.evidence).toContain('b#t0 has 2 rows');
  });
});
