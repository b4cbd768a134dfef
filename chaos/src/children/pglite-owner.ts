/*
 * A process with an embedded database: runs the batches of the plan in it, and writes note after note. The ledger is told of each
 * before it is written and after it was acknowledged. Whatever an earlier process on the same directory has left undone is done by this one. Says
 * `up` to its parent when it works, drains on SIGTERM, and does not outlive its parent.
 */

import { wait } from '@millrace/async-utils';
import { ERRORS } from '@millrace/foundation';
import { PgliteDatabase } from '@millrace/postgres';
import { readLedger } from '@millrace/testkit/ledger';
import { ENDED } from '../outbox/all-ended.js';
import { openOutboxOn, serveParent } from '../outbox/open-outbox.js';
import type { PlannedBatch } from '../outbox/plan.js';
import { INSERT_ORDER } from '../outbox/tables.js';
import type { PgliteBrief } from '../pglite/settings.js';
import { makeTables, writeNote } from '../pglite/tables.js';

const WRITE_EVERY_MS = 5;
const LOOK_EVERY_MS = 50;
const SLOTS = 4;
/** A claim is lost with every kill, however short the life was. */
const LOST_MAX = 1000;

const brief = JSON.parse(process.argv[2] ?? '{}') as PgliteBrief;
const database = new PgliteDatabase({ dataDir: brief.dataDir });
const opened = openOutboxOn(database, brief, { poll: true, concurrency: SLOTS, lostMax: LOST_MAX });
const { outbox, ledger, plan } = opened;

async function push({ dag, bizKey, payload, push: how }: PlannedBatch): Promise<void> {
  const { id, created } =
    how === 'alone'
      ? await outbox.pusher.start(dag, bizKey, payload)
      : await database.transaction(async (tx) => {
          const started = await outbox.pusher.start(dag, bizKey, payload, { tx });
          if (started.created) await tx.query(INSERT_ORDER, [bizKey]);
          return started;
        });
  ledger.append({ kind: 'acknowledged', batch: bizKey, id, created });
}

async function writeOn(): Promise<void> {
  for (let count = 1; ; count++) {
    const note = `${process.pid}-${count}`;
    await database.transaction(async (tx) => {
      // Not before its turn has come: whoever waits for it writes nothing yet.
      ledger.append({ kind: 'writing', note });
      await writeNote(tx, note);
    });
    ledger.append({ kind: 'written', note });
    await wait(WRITE_EVERY_MS);
  }
}

async function tellWhenAllEnded(): Promise<void> {
  for (; ; await wait(LOOK_EVERY_MS)) {
    const { rows } = await database.query<{ count: number }>(ENDED);
    if (rows[0]?.count === plan.batches.length) break;
  }
  ledger.append({ kind: 'all-ended' });
}

await makeTables(database);
await serveParent(opened);
const told = new Set(
  readLedger(brief.ledger)
    .filter(({ kind }) => kind === 'acknowledged')
    .map(({ batch }) => batch),
);
const due = plan.batches.slice(0, brief.batches).filter(({ bizKey }) => !told.has(bizKey));
const outcomes = await Promise.allSettled([writeOn(), tellWhenAllEnded(), ...due.map(push)]);
for (const outcome of outcomes)
  if (outcome.status === 'rejected' && !ERRORS.is(outcome.reason, 'SERVICE_STOPPED')) throw outcome.reason;
