import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OrchestratorService, RouteExecutor } from '@millrace/orchestrator';
import { BatchBacking } from '@millrace/orchestrator/batch';
import { PostgresOperationStore } from '@millrace/orchestrator/postgres';
import { Outbox } from '@millrace/outbox';
import { PgDatabase } from '@millrace/postgres';
import { type Ledger, openLedger } from '@millrace/testkit/ledger';
import { openDoor, portOf } from './door.js';
import { ErrandBacking } from './errands.js';
import { Performer } from './perform.js';
import type { Plan } from './plan.js';
import { applicationOf, CALL_TIMEOUT_MS, type InstanceBrief, OPERATIONS_PATH, ownerOf } from './settings.js';
import { steppedStore } from './stepped-store.js';
import { Killer } from './steps.js';

/** One instance: an orchestrator, and the outbox that runs its batches. */
export interface Instance {
  readonly orchestrator: OrchestratorService;
  readonly outbox: Outbox;
  readonly ledger: Ledger;
  /** Starts to work and to take calls. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** Tasks that one instance runs at once, and connections for all else. */
const SLOTS = 3;
const CONNECTIONS_BESIDE = 5;
/** As short as makes the tries of an operation be over within a scenario. */
const BACKOFF_BASE_MS = 100;
const BACKOFF_MAX_MS = 400;

/** Makes the instance of one process; nothing is started. */
export function openInstance(brief: InstanceBrief): Instance {
  const { timing, beginsAt, marks } = brief;
  const { kills } = JSON.parse(readFileSync(brief.plan, 'utf8')) as Plan;
  const ledger = openLedger(brief.ledger);
  const { at } = new Killer({ kills, beginsAt, marks, ledger });
  const database = new PgDatabase({
    url: brief.url,
    poolSize: SLOTS + CONNECTIONS_BESIDE,
    callTimeoutMs: CALL_TIMEOUT_MS,
    applicationName: applicationOf(process.pid),
  });
  const performer = new Performer(ledger, at);
  const { leaseMs, gracePeriodMs } = timing;
  const outbox = new Outbox({
    database,
    dags: [performer.dag],
    concurrency: SLOTS,
    leaseMs,
    gracePeriodMs,
  });
  const store = steppedStore(new PostgresOperationStore({ database }), at);
  const executor = new RouteExecutor({
    routes: performer.routes,
    backings: [new BatchBacking({ outbox, operations: store }), new ErrandBacking(database)],
    backoffBaseMs: BACKOFF_BASE_MS,
    backoffMaxMs: BACKOFF_MAX_MS,
  });
  const orchestrator = new OrchestratorService({
    executor,
    store,
    ...timing,
    statusBasePath: OPERATIONS_PATH,
    owner: ownerOf(process.pid),
  });
  let closeDoor = () => {};
  return {
    orchestrator,
    outbox,
    ledger,
    async open() {
      await outbox.start();
      await orchestrator.start();
      const server = await openDoor(orchestrator);
      closeDoor = () => {
        server.close();
        server.closeAllConnections();
      };
      const path = join(brief.doors, `${process.pid}`);
      writeFileSync(`${path}.new`, `${portOf(server)}`);
      // In one step: nobody finds half of a number.
      renameSync(`${path}.new`, path);
    },
    async close() {
      await orchestrator.stop();
      closeDoor();
      executor.close();
      await outbox.stop();
      await database.stop();
    },
  };
}
