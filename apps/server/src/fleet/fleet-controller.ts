import { BulkActionEngine } from '@millrace/bulk-action/nestjs';
import {
  type InstanceBody,
  type InstanceList,
  type PoolBody,
  type PoolStatusBody,
  ROUTES,
  type ScaleResponse,
} from '@millrace/contract';
import { Controller, Inject } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { ERRORS } from '../errors.js';
import { HandleRoute } from '../http/routes.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import { Heartbeat } from './heartbeat.js';
import { InstanceStore } from './instance-store.js';

/** Workers that an answer shows one by one. */
const WORKERS_SHOWN = 500;
/** Instances that a message names. */
const NAMED_MAX = 10;

/** Answers for all instances. */
@Controller()
export class FleetController {
  readonly #parts: ServerParts;
  readonly #engine: BulkActionEngine;
  readonly #store: InstanceStore;
  readonly #heartbeat: Heartbeat;

  constructor(
    @Inject(PARTS) parts: ServerParts,
    @Inject(BulkActionEngine) engine: BulkActionEngine,
    @Inject(InstanceStore) store: InstanceStore,
    @Inject(Heartbeat) heartbeat: Heartbeat,
  ) {
    this.#parts = parts;
    this.#engine = engine;
    this.#store = store;
    this.#heartbeat = heartbeat;
  }

  @HandleRoute(ROUTES.listInstances)
  async instances(): Promise<InstanceList> {
    return { items: [...(await this.#store.list())] };
  }

  @HandleRoute(ROUTES.getPool)
  async pool(): Promise<PoolBody> {
    const instances = (await this.#running()).map(
      ({ instanceId, bulkInstanceId, workerCount, wantedWorkers, busy }) => ({
        instanceId,
        bulkInstanceId,
        workerCount: workerCount ?? 0,
        wantedWorkers,
        busy: busy.jobs,
      }),
    );
    return {
      instanceId: this.#parts.instanceId,
      pool: this.#engine.config.workerPool.enabled ? this.#ownPool() : null,
      workerCount: instances.reduce((sum, { workerCount }) => sum + workerCount, 0),
      instances,
    };
  }

  @HandleRoute(ROUTES.scalePool)
  async scale(@RouteInput() { body }: ValidatedRequest<typeof ROUTES.scalePool>): Promise<ScaleResponse> {
    const { workerCount, instance } = body;
    const instances = await this.#store.want(workerCount, instance);
    if (instances.length === 0) throw await this.#notFound(instance);
    this.#heartbeat.tellScaled();
    return { workerCount, instances: [...instances] };
  }

  async #running(): Promise<readonly InstanceBody[]> {
    const all = await this.#store.list();
    return all.filter(({ alive, workerCount }) => alive && workerCount !== null);
  }

  async #notFound(instance = 'of any name') {
    const known = (await this.#running()).map(({ instanceId }) => instanceId);
    const more = known.length > NAMED_MAX ? ['…'] : [];
    return ERRORS.create('INSTANCE_NOT_FOUND', {
      instance,
      known: [...known.slice(0, NAMED_MAX), ...more].join(', ') || 'none',
    });
  }

  #ownPool(): PoolStatusBody {
    const { workers, fetcherStats, dispatcherStats, ...status } = this.#engine.pool.getPoolStatus();
    const busyFirst = [...workers].sort(
      (a, b) => Number(a.currentJob === null) - Number(b.currentJob === null),
    );
    return {
      ...status,
      fetcherStats: { ...fetcherStats },
      dispatcherStats: { ...dispatcherStats },
      workers: busyFirst
        .slice(0, WORKERS_SHOWN)
        .map(({ id, state, currentJob }) => ({ id, state, currentJob })),
    };
  }
}
