import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ledger, openLedger, type PostgresServer, startPostgres } from '@millrace/testkit';
import { Crew } from '../crew.js';
import { asking } from '../postgres.js';
import type { ScenarioContext } from '../registry.js';
import { accountTable } from './accounts.js';
import { type ConflictScale, DEADLOCK_TIMEOUT_MS } from './conflict-settings.js';
import { HINT_SWITCH } from './lost-hints.js';
import { type OpenedOutbox, openOutbox } from './open-outbox.js';
import type { Plan } from './plan.js';
import type { OutboxBrief } from './settings.js';
import { createTables } from './world.js';

/** PostgreSQL, processes that poll and such that push, and the ledger that all of them write. */
export interface ConflictWorld extends AsyncDisposable {
  readonly postgres: PostgresServer;
  /** All processes so far. */
  readonly crews: readonly Crew[];
  /** Of this process: starts and looks at batches, and runs nothing. */
  readonly own: OpenedOutbox;
  readonly ledger: Ledger;
  readonly ledgerPath: string;
  /** Starts the processes that push. */
  startPushing(): Promise<void>;
}

/** The first batch is due when those who push have started, or nearly so. */
const BEGINS_IN_MS = 500;

/**
 * Starts everything but those who push.
 * @param context - the scenario's.
 * @param scale - how many of each.
 */
export async function openConflictWorld(
  { folder }: ScenarioContext,
  plan: Plan,
  { pollers, strictPollers, pushers, slots, leaseMs, size }: ConflictScale,
): Promise<ConflictWorld> {
  const [ledgerPath, planPath, marks] = ['ledger', 'plan', 'marks'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(marks);
  writeFileSync(planPath, JSON.stringify(plan));
  const ledger = openLedger(ledgerPath);
  const postgres = await startPostgres({ args: ['-c', `deadlock_timeout=${DEADLOCK_TIMEOUT_MS}ms`] });
  const { url } = postgres;
  const brief: OutboxBrief = { url, ledger: ledgerPath, plan: planPath, marks, leaseMs, slots, beginsAt: 0 };
  const crews: Crew[] = [];
  const hire = async (program: string, count: number, more: Partial<OutboxBrief>) => {
    const crew = new Crew({ program, brief: { ...brief, ...more }, ledger });
    crews.push(crew);
    await crew.start(count);
  };
  const own = openOutbox(brief, false);
  const close = async () => {
    await Promise.all(crews.map((crew) => crew[Symbol.asyncDispose]()));
    await own.close();
    own.ledger.close();
    await postgres.stop();
    ledger.close();
  };
  const startPushing = () => hire('outbox-pusher', pushers, { beginsAt: Date.now() + BEGINS_IN_MS });
  try {
    await createTables(url);
    await asking(url, (client) => client.query(`${accountTable(size.accounts)} ${HINT_SWITCH}`));
    await Promise.all([
      own.outbox.start(),
      hire('outbox-contender', pollers, {}),
      hire('outbox-contender', strictPollers, { strict: true }),
    ]);
    return { postgres, crews, own, ledger, ledgerPath, startPushing, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}
