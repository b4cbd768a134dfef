import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrateOutbox } from '@millrace/outbox';
import { PgDatabase } from '@millrace/postgres';
import {
  type Ledger,
  openLedger,
  type PostgresServer,
  startTcpProxy,
  type TcpProxy,
} from '@millrace/testkit';
import { Crew } from '../crew.js';
import { asking, startCrashingPostgres } from '../postgres.js';
import type { ScenarioContext } from '../registry.js';
import { FAULTS_OVER } from './perform.js';
import type { Plan } from './plan.js';
import type { OutboxBrief, OutboxScale } from './settings.js';
import { USER_TABLES } from './tables.js';

/** PostgreSQL that waits for the disk, processes that push and poll, and the ledger that all of them write. */
export interface OutboxWorld extends AsyncDisposable {
  readonly postgres: PostgresServer;
  /** Between the processes and PostgreSQL. */
  readonly proxy: TcpProxy;
  readonly pollers: Crew;
  readonly pushers: Crew;
  readonly ledger: Ledger;
  readonly ledgerPath: string;
  /** Tells the processes to end themselves no more. */
  endFaults(): void;
}

/** The first batch is due when the processes have started, or nearly so. */
const BEGINS_IN_MS = 1500;

/**
 * Starts everything.
 * @param context - the scenario's.
 * @param scale - how many of each.
 */
export async function openOutboxWorld(
  { folder }: ScenarioContext,
  plan: Plan,
  scale: OutboxScale,
): Promise<OutboxWorld> {
  const [ledgerPath, planPath, marks] = ['ledger', 'plan', 'marks'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(marks);
  writeFileSync(planPath, JSON.stringify(plan));
  const ledger = openLedger(ledgerPath);
  const postgres = await startCrashingPostgres();
  const proxy = await startTcpProxy({ targetHost: postgres.host, targetPort: postgres.port });
  const endFaults = () => writeFileSync(join(marks, FAULTS_OVER), '');
  const brief: OutboxBrief = {
    url: Object.assign(new URL(postgres.url), { port: proxy.port }).href,
    ledger: ledgerPath,
    plan: planPath,
    marks,
    leaseMs: scale.leaseMs,
    beginsAt: Date.now() + BEGINS_IN_MS,
  };
  const pollers = new Crew({ program: 'outbox-poller', brief, ledger });
  const pushers = new Crew({ program: 'outbox-pusher', brief, ledger });
  const close = async () => {
    await Promise.all([pollers, pushers].map((crew) => crew[Symbol.asyncDispose]()));
    await proxy.close();
    await postgres.stop();
    ledger.close();
  };
  try {
    await createTables(postgres.url);
    await Promise.all([pollers.start(scale.pollers), pushers.start(scale.pushers)]);
    return { postgres, proxy, pollers, pushers, ledger, ledgerPath, endFaults, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Makes the tables of the outbox and those of the user. */
export async function createTables(url: string): Promise<void> {
  const database = new PgDatabase({ url });
  try {
    await migrateOutbox(database);
  } finally {
    await database.stop();
  }
  await asking(url, (client) => client.query(USER_TABLES));
}
