/*
 * One process of the server, as `millrace start` runs it. Says `up` to its parent when it is ready, drains on SIGTERM, and does not outlive
 * its parent.
 */

import { pathToFileURL } from 'node:url';
import { wait } from '@millrace/async-utils';
import type { ServerBrief } from '../server/settings.js';

/** From one look at whether it is ready to the next. */
const LOOK_EVERY_MS = 50;

const { program, config, ledger, port } = JSON.parse(process.argv[2] ?? '{}') as ServerBrief;
process.on('disconnect', () => process.exit(1));
// What the caller of the scenario has set for servers of its own is not meant.
for (const name of Object.keys(process.env))
  if (/^(MILLRACE_.*|PORT|HOST|REDIS_URL|DATABASE_URL|SMTP_URL|VAPID_.*|CHAT_.*)$/.test(name))
    delete process.env[name];
process.env.CHAOS_LEDGER = ledger;

process.argv.splice(2, 1, 'start', '--config', config);
// It ends with the process.
void import(pathToFileURL(program).href);

const isReady = async () => {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health/ready`)).ok;
  } catch {
    return false;
  }
};
while (!(await isReady())) await wait(LOOK_EVERY_MS);
process.send?.('up');
