/*
 * One of several processes that ask for the same batches at the same moments, and again until they are answered: some by
 * themselves, some in a transaction with an order, some in one that is rolled back. The ledger is told of every answer;
 * a process that is started later goes on with what nobody was answered. Says `up` to its parent when it has begun.
 */

import { pLimit, wait } from '@millrace/async-utils';
import { toWorkError } from '@millrace/foundation';
import { readLedger } from '@millrace/testkit';
import { openOutbox, serveParent } from '../outbox/open-outbox.js';
import type { PlannedBatch } from '../outbox/plan.js';
import type { OutboxBrief } from '../outbox/settings.js';
import { INSERT_ORDER } from '../outbox/tables.js';

const AGAIN_MS = 50;
/** Calls at once: as many as there are connections, so that none spends its time in waiting for one. */
const CALLS = 4;

const brief = JSON.parse(process.argv[2] ?? '{}') as OutboxBrief;
const opened = openOutbox(brief, false);
const { outbox, database, ledger, plan } = opened;

const limited = pLimit(CALLS);

class ChangedMind extends Error {}

/** Asks once. */
async function push(batch: PlannedBatch): Promise<{ readonly id: string; readonly created: boolean }> {
  const { dag, bizKey, payload } = batch;
  if (batch.push === 'alone') return outbox.pusher.start(dag, bizKey, payload);
  return database.transaction(async (tx) => {
    const started = await outbox.pusher.start(dag, bizKey, payload, { tx });
    if (started.created) await tx.query(INSERT_ORDER, [bizKey]);
    if (batch.push === 'rolled-back') throw new ChangedMind();
    return started;
  });
}

/** Asks when it is due, until it is answered. */
async function pushUntilAnswered(batch: PlannedBatch): Promise<void> {
  const { bizKey, dueMs } = batch;
  await wait(Math.max(0, brief.beginsAt + dueMs - Date.now()));
  for (;;) {
    try {
      const { id, created } = await limited(() => push(batch));
      ledger.append({ kind: 'acknowledged', batch: bizKey, id, created });
      return;
    } catch (error) {
      if (error instanceof ChangedMind) return void ledger.append({ kind: 'rolled-back', batch: bizKey });
      const { code, message } = toWorkError(error);
      if (code === 'SERVICE_STOPPED') return; // The other process was answered, and all is over.
      ledger.append({ kind: 'refused', batch: bizKey, code, message: message.slice(0, 300) });
      await wait(AGAIN_MS);
    }
  }
}

const answered = new Set(
  readLedger(brief.ledger)
    .filter(({ kind }) => kind === 'acknowledged' || kind === 'rolled-back')
    .map(({ batch }) => batch),
);
await serveParent(opened);
await Promise.all(plan.batches.filter(({ bizKey }) => !answered.has(bizKey)).map(pushUntilAnswered));
