import { InstanceBody } from '@millrace/contract';
import { Inject, Injectable } from '@nestjs/common';
import type { z } from 'zod';
import { ServerTables } from './server-tables.js';

/** Who was not heard of for so long is gone: three heartbeats. */
const ALIVE_MS = 15_000;
/** How long those gone are listed. */
const GONE_MS = 86_400_000;

/** What changes from one heartbeat to the next, and is only looked at. */
const Runs = InstanceBody.pick({
  stopping: true,
  processors: true,
  dags: true,
  routes: true,
  outboxConcurrency: true,
  busy: true,
  backends: true,
}).extend({
  // An instance of a version before does not say these.
  stoppingSince: InstanceBody.shape.stoppingSince.default(null),
  gracePeriodMs: InstanceBody.shape.gracePeriodMs.default(null),
  pool: InstanceBody.shape.pool.default(null),
  memory: InstanceBody.shape.memory.default(null),
});
type InstanceRuns = z.infer<typeof Runs>;

/** What an instance says of itself. */
export interface InstanceReport
  extends Pick<
    InstanceBody,
    'instanceId' | 'bulkInstanceId' | 'role' | 'version' | 'host' | 'pid' | 'workerCount'
  > {
  readonly runs: InstanceRuns;
}

/** What somebody wishes of an instance. */
export interface InstanceWish {
  /** undefined: nothing. */
  readonly workers: number | undefined;
  /** Tells one wish from another. */
  readonly mark: string | undefined;
  /** The time of the database. */
  readonly now: Date;
}

/** The instances as they are stored. */
@Injectable()
export class InstanceStore {
  readonly #tables: ServerTables;

  constructor(@Inject(ServerTables) tables: ServerTables) {
    this.#tables = tables;
  }

  /**
   * A heartbeat.
   * @returns what is wished of it.
   */
  async note(report: InstanceReport): Promise<InstanceWish> {
    const { instanceId, role, version, host, pid, bulkInstanceId, workerCount, runs } = report;
    const [row] = await this.#tables.rows<WishRow>('note-instance', [
      ...[instanceId, role, version, host, pid, bulkInstanceId, workerCount, runs],
    ]);
    const { wanted_workers: workers, wanted_at: mark, now } = row as WishRow;
    return { workers: workers ?? undefined, mark: mark ?? undefined, now };
  }

  /** Forgets an instance that ends. */
  async forget(instanceId: string): Promise<void> {
    await this.#tables.change('forget-instance', [instanceId]);
  }

  /**
   * Whether an instance is to do what is done once for all that answer requests.
   * @returns true for one of those that are alive.
   */
  async isEldest(instanceId: string): Promise<boolean> {
    const [eldest] = await this.#tables.rows<Pick<InstanceRow, 'instance_id'>>('eldest-instance', [ALIVE_MS]);
    return eldest?.instance_id === instanceId;
  }

  /** Those alive, and those gone for a day. */
  async list(): Promise<readonly InstanceBody[]> {
    const rows = await this.#tables.rows<InstanceRow>('list-instances', [ALIVE_MS, GONE_MS]);
    return rows.map(instanceOf);
  }

  /**
   * Wishes a number of workers.
   * @param instance - by either of its ids; undefined: of all that run jobs.
   * @returns the instances that it was wished of.
   */
  async want(workers: number, instance: string | undefined): Promise<readonly string[]> {
    const rows = await this.#tables.rows<Pick<InstanceRow, 'instance_id'>>('want-workers', [
      ...[workers, instance, ALIVE_MS],
    ]);
    return rows.map(({ instance_id }) => instance_id).sort();
  }

  /**
   * Removes some of those gone for long.
   * @param limit - at most so many.
   * @returns how many.
   */
  prune(limit: number): Promise<number> {
    return this.#tables.change('prune-instances', [GONE_MS, limit]);
  }
}

interface WishRow {
  readonly wanted_workers: number | null;
  readonly wanted_at: string | null;
  readonly now: Date;
}

interface InstanceRow {
  readonly instance_id: string;
  readonly role: InstanceBody['role'];
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  readonly started_at: Date;
  readonly seen_at: Date;
  readonly bulk_instance_id: string;
  readonly worker_count: number | null;
  readonly wanted_workers: number | null;
  readonly runs: unknown;
  readonly alive: boolean;
}

function instanceOf(row: InstanceRow): InstanceBody {
  return {
    instanceId: row.instance_id,
    bulkInstanceId: row.bulk_instance_id,
    role: row.role,
    version: row.version,
    host: row.host,
    pid: row.pid,
    alive: row.alive,
    startedAt: row.started_at.toISOString(),
    seenAt: row.seen_at.toISOString(),
    workerCount: row.worker_count,
    wantedWorkers: row.wanted_workers,
    // Another version may have written it.
    ...(Runs.safeParse(row.runs).data ?? NOTHING_KNOWN),
  };
}

const NOTHING_KNOWN: InstanceRuns = {
  stopping: false,
  processors: [],
  dags: [],
  routes: [],
  outboxConcurrency: null,
  busy: { jobs: 0, tasks: 0, requests: 0, streams: 0 },
  backends: [],
  stoppingSince: null,
  gracePeriodMs: null,
  pool: null,
  memory: null,
};
