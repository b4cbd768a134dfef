import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrateOrchestrator } from '@millrace/orchestrator/postgres';
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
import type { Plan } from './plan.js';
import type { InstanceBrief, OrchestratorScale } from './settings.js';
import { FAULTS_OVER } from './steps.js';
import { USER_TABLES } from './tables.js';

/** PostgreSQL that waits for the disk, instances, and the ledger that all of them write. */
export interface OrchestratorWorld extends AsyncDisposable {
  readonly postgres: PostgresServer;
  /** Between the instances and PostgreSQL. */
  readonly proxy: TcpProxy;
  readonly instances: Crew;
  readonly ledger: Ledger;
  readonly ledgerPath: string;
  /** Where instances say at which port they can be called. */
  readonly doors: string;
  /** When the first command is due, by the clock of the machine. */
  readonly beginsAt: number;
  /** Tells the instances to kill themselves no more. */
  endFaults(): void;
}

/** The first command is due when the instances have started, or nearly so. */
const BEGINS_IN_MS = 1500;

/**
 * Starts everything.
 * @param context - the scenario's.
 * @param scale - how many of each.
 */
export async function openOrchestratorWorld(
  { folder }: ScenarioContext,
  plan: Plan,
  scale: OrchestratorScale,
): Promise<OrchestratorWorld> {
  const at = (name: string) => join(folder, name);
  const [ledgerPath, planPath, marks, doors] = [at('ledger'), at('plan'), at('marks'), at('doors')];
  mkdirSync(marks);
  mkdirSync(doors);
  writeFileSync(planPath, JSON.stringify(plan));
  const ledger = openLedger(ledgerPath);
  const postgres = await startCrashingPostgres();
  const proxy = await startTcpProxy({ targetHost: postgres.host, targetPort: postgres.port });
  const endFaults = () => writeFileSync(join(marks, FAULTS_OVER), '');
  const opened: Crew[] = [];
  const close = async () => {
    await Promise.all(opened.map((crew) => crew[Symbol.asyncDispose]()));
    await proxy.close();
    await postgres.stop();
    ledger.close();
  };
  try {
    await createTables(postgres.url);
    const beginsAt = Date.now() + BEGINS_IN_MS;
    const brief: InstanceBrief = {
      url: Object.assign(new URL(postgres.url), { port: proxy.port }).href,
      ledger: ledgerPath,
      plan: planPath,
      marks,
      doors,
      timing: scale.timing,
      beginsAt,
    };
    const instances = new Crew({ program: 'orchestrator-instance', brief, ledger });
    opened.push(instances);
    await instances.start(scale.instances);
    const world = { postgres, proxy, instances, ledger, ledgerPath, doors, beginsAt, endFaults };
    return { ...world, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function createTables(url: string): Promise<void> {
  const database = new PgDatabase({ url });
  try {
    await migrateOutbox(database);
    await migrateOrchestrator(database);
  } finally {
    await database.stop();
  }
  await asking(url, (client) => client.query(USER_TABLES));
}
