/*
 * One process that runs tasks of the outbox which get into each other's way, in transactions that are READ COMMITTED or SERIALIZABLE as it is told.
 * Besides what its handlers write, the ledger is told how each try ended. Says `up` to its parent when it works, drains on SIGTERM, and does not
 * outlive its parent.
 */

import { openOutbox, serveParent } from '../outbox/open-outbox.js';
import type { OutboxBrief } from '../outbox/settings.js';

const opened = openOutbox(JSON.parse(process.argv[2] ?? '{}') as OutboxBrief, true);
const { outbox, ledger } = opened;
outbox.events.on('task', ({ batchId, taskKey, result }) => {
  ledger.append({ kind: 'try-ended', batchId, task: taskKey, result });
});
await serveParent(opened);
