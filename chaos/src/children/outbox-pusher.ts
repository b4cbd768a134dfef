/*
 * One of several processes that ask for the same batches at the same moments, and again until they are answered: some by
 * themselves, some in a transaction with an order, some in one that is rolled back. Then they do to them what the plan says: abort,
 * retry. The ledger is told of every answer; a process that is started later goes on with what nobody has brought to its end. Says `up`
 * to its parent when it has begun.
 */

import { pLimit, wait } from '@millrace/async-utils';
import { readLedger } from '@millrace/testkit/ledger';
import { type FollowParts, follow, Stopped, untilAnswered } from '../outbox/follow.js';
import { openOutbox, serveParent } from '../outbox/open-outbox.js';
import { type PlannedBatch, storied } from '../outbox/plan.js';
import type { OutboxBrief } from '../outbox/settings.js';
import { INSERT_ORDER } from '../outbox/tables.js';

/** Calls at once: as many as there are connections, so that none spends its time in waiting for one. */
const CALLS = 4;

const brief = JSON.parse(process.argv[2] ?? '{}') as OutboxBrief;
const opened = openOutbox(brief, false);
const { outbox, database, ledger, plan } = opened;

const before = readLedger(brief.ledger);
const entriesOf = (kind: string) => before.filter((entry) => entry.kind === kind);
const batchesOf = (kind: string) => new Set(entriesOf(kind).map(({ batch }) => batch));
const [isTakenBack, isSettled] = [batchesOf('rolled-back'), batchesOf('settled')];
const idOf = new Map(entriesOf('acknowledged').map(({ batch, id }) => [batch, String(id)]));
const hasStory = new Set(storied(plan).map(({ bizKey }) => bizKey));
const parts: FollowParts = {
  plan,
  outbox,
  ledger,
  marks: brief.marks,
  aborted: batchesOf('abort-answered'),
  limited: pLimit(CALLS),
};

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

/** Asks when it is due, until it is answered; undefined when it was taken back. */
async function pushUntilAnswered(batch: PlannedBatch): Promise<string | undefined> {
  const { bizKey, dueMs } = batch;
  await wait(Math.max(0, brief.beginsAt + dueMs - Date.now()));
  const answer = await untilAnswered(() => push(batch).catch(takenBack), parts, bizKey);
  if (answer === undefined) ledger.append({ kind: 'rolled-back', batch: bizKey });
  else ledger.append({ kind: 'acknowledged', batch: bizKey, id: answer.id, created: answer.created });
  return answer?.id;
}

function takenBack(error: unknown): undefined {
  if (!(error instanceof ChangedMind)) throw error;
}

/** Brings a batch to its end, from wherever others have left it. */
async function attend(batch: PlannedBatch): Promise<void> {
  const { bizKey } = batch;
  const id = idOf.get(bizKey) ?? (isTakenBack.has(bizKey) ? undefined : await pushUntilAnswered(batch));
  if (id !== undefined && hasStory.has(bizKey) && !isSettled.has(bizKey)) await follow(batch, id, parts);
}

await serveParent(opened);
const outcomes = await Promise.allSettled(plan.batches.map(attend));
for (const outcome of outcomes)
  if (outcome.status === 'rejected' && !(outcome.reason instanceof Stopped)) throw outcome.reason;
