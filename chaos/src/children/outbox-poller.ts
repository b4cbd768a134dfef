/*
 * One process that runs tasks of the outbox. Its tasks write rows through their transactions, and the ledger before and
 * after; the end of each batch writes a row, too. Says `up` to its parent when it works, drains on SIGTERM, and does not
 * outlive its parent.
 */

import { openOutbox, serveParent } from '../outbox/open-outbox.js';
import type { OutboxBrief } from '../outbox/settings.js';

const opened = openOutbox(JSON.parse(process.argv[2] ?? '{}') as OutboxBrief, true);
const { outbox, ledger } = opened;
outbox.events.on('task', ({ handler, result }) => {
  if (result === 'lost') ledger.append({ kind: 'lost', handler });
});
await serveParent(opened);
