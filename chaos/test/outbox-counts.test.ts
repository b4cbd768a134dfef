import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRng } from '@millrace/foundation';
import { migrateOutbox, Outbox } from '@millrace/outbox';
import { PgDatabase } from '@millrace/postgres';
import { openLedger, postgresSandbox } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { gatherEvidence } from '../src/outbox/evidence.js';
import { definitionOf } from '../src/outbox/open-outbox.js';
import { Performer } from '../src/outbox/perform.js';
import type { Plan } from '../src/outbox/plan.js';
import { drawDags } from '../src/outbox/shapes.js';
import { USER_TABLES } from '../src/outbox/tables.js';
import { checkCounts, lookAtCounts } from '../src/outbox/watch-counts.js';

describe('looks at what outbox counts', () => {
  it('find nothing wrong in new batches of every shape, and see any count that is changed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-counts-'));
    try {
      await using sandbox = await postgresSandbox();
      using ledger = openLedger(join(folder, 'ledger'));
      await using database = new PgDatabase({ url: sandbox.url });
      await migrateOutbox(database);
      await database.transaction((tx) => tx.script(USER_TABLES));
      const { wide, others } = drawDags(seededRng(1));
      const dags = [...wide, ...others];
      const performer = new Performer(ledger, folder);
      const definitions = dags.map((dag) => definitionOf(dag, performer));
      await using outbox = new Outbox({ database, dags: definitions, poll: false, concurrency: 1 });
      await outbox.registry.save();
      const ids = new Map<string, string>();
      for (const { name } of dags) ids.set(name, (await outbox.pusher.start(name, name, { scripts: {} })).id);

      const good = await lookAtCounts(sandbox.url);
      expect(good).toMatchObject({ looks: 1, batches: dags.length, wrong: [] });
      expect(good.tasks).toBeGreaterThan(2 * 66);
      expect(checkCounts(good)).toMatchObject({ held: true });
      expect(checkCounts({ ...good, tasks: 0 })).toMatchObject({ held: false });

      const broken = async (sql: string) => {
        await database.query(sql);
        const seen = await lookAtCounts(sandbox.url);
        expect(checkCounts(seen)).toMatchObject({ held: false });
        return seen.wrong.length;
      };
      const task = `batch_id = ${ids.get('any')} AND task_key = 't4'`;
      expect(await broken(`UPDATE millrace.outbox_evt SET pre_cnt = 0 WHERE ${task}`)).toBe(1);
      expect(await broken(`UPDATE millrace.outbox_evt SET pre_cnt = 1, open_cnt = 2 WHERE ${task}`)).toBe(1);
      // A parent ended, and nobody counted it: in the task behind it and in the batch.
      await database.query(`UPDATE millrace.outbox_evt SET open_cnt = 3 WHERE ${task}`);
      const parent = `batch_id = ${ids.get('any')} AND task_key = 't1'`;
      expect(await broken(`UPDATE millrace.outbox_evt SET status = 'SKIPPED' WHERE ${parent}`)).toBe(2);
      // Counted in ticks.
      await database.query(
        `INSERT INTO millrace.outbox_tick VALUES (${ids.get('any')}, 't4', 0, 1), (${ids.get('any')}, NULL, 0, 1)`,
      );
      expect(await lookAtCounts(sandbox.url)).toMatchObject({ wrong: [] });

      await outbox.batches.abort(String(ids.get('choice')));
      await outbox.batches.retry(String(ids.get('choice')));
      const plan: Plan = { dags, batches: [] };
      const { moves } = await gatherEvidence(plan, { url: sandbox.url, ledgerPath: join(folder, 'ledger') });
      expect(moves.map(({ bizKey, from, to }) => [bizKey, from, to])).toEqual([
        ['choice', 'RUNNING', 'ABORTED'],
        ['choice', 'ABORTED', 'RUNNING'],
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
