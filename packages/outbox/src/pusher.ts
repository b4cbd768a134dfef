import { NO_TENANT } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import { checkedText, encodePayload, KEY_LENGTH_MAX, requireKeyFits } from './batch-input.js';
import { ERRORS } from './errors.js';
import type { Kit } from './kit.js';
import type { Batch } from './model.js';

/** Options of `Pusher.start`. */
export interface StartOptions {
  /** The caller's own transaction. The batch exists if it commits. */
  readonly tx?: Tx | undefined;
  /** `rerun` starts another run if the latest one has ended (returns the latest run). */
  readonly ifEnded?: 'rerun' | undefined;
  /** Tenant of the batch (''). */
  readonly tenant?: string | undefined;
  /** W3C trace context, passed to its tasks. */
  readonly traceparent?: string | undefined;
}

/** A batch, and whether this call made it. */
export interface StartedBatch extends Batch {
  /** False if its business key had a batch already. */
  readonly created: boolean;
}

const TRACEPARENT_LENGTH_MAX = 200;

/** Maximum attempts of a start that meets another one of its key which is then rolled back. */
const TRIES = 5;

/** Starts batches. */
export class Pusher {
  readonly #kit: Kit;

  constructor(kit: Kit) {
    this.#kit = kit;
  }

  /**
   * Starts a batch with all its tasks in one transaction, or returns the latest run of its business key, whatever its state.
   * It may be repeated after a failure: there is one batch per key and run.
   * @param dag - name of a stored DAG. It takes the applied definition, else this instance's own, else the last registered.
   * @param payload - any JSON value, passed to every task.
   * @throws MillraceError `DAG_NOT_FOUND`, `BATCH_TOO_LARGE`, `ID_INVALID`, `PARAMETER_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async start(
    dag: string,
    bizKey: string,
    payload: unknown = {},
    options: StartOptions = {},
  ): Promise<StartedBatch> {
    const { tx, ifEnded, tenant = NO_TENANT, traceparent } = options;
    const checked = checkedText('bizKey', bizKey, 1, KEY_LENGTH_MAX);
    const batch = {
      tenant: checkedText('tenant', tenant, 0, KEY_LENGTH_MAX),
      dag,
      version: this.#kit.registry.versionOf(dag),
      bizKey: checked,
      payload: encodePayload(dag, payload, this.#kit.options.payloadBytesMax),
      traceparent:
        traceparent === undefined
          ? undefined
          : checkedText('traceparent', traceparent, 0, TRACEPARENT_LENGTH_MAX),
      rerun: ifEnded === 'rerun',
      schedule: undefined,
    };
    requireKeyFits(batch.tenant, bizKey);
    const timeoutMs = startTimeoutMs(this.#kit.registry.taskCountOf(dag));
    for (let attempt = 1; ; attempt++) {
      const made = await this.#kit.batches.start(batch, tx, timeoutMs);
      if (made) {
        if (!tx) this.#tell(made);
        return { ...made, created: true };
      }
      const found = await this.#kit.batches.find(batch, tx);
      if (found) return { ...found, created: false };
      if (attempt === TRIES || !(await this.#kit.batches.hasDag(dag, tx)))
        throw ERRORS.create('DAG_NOT_FOUND', { dag });
    }
  }

  /** Notifies the own poller first, which notifies other instances if it cannot take everything. */
  #tell({ id, tenant, dag, bizKey }: Batch): void {
    const hint = { kind: 'work', dag } as const;
    this.#kit.wakeUps.here(hint);
    if (!this.#kit.options.poll || !this.#kit.registry.names.includes(dag)) this.#kit.wakeUps.others(hint);
    this.#kit.events.emit('started', { id, tenant, dag, bizKey });
  }
}

/** A batch of up to this number of tasks needs no longer timeout than any other statement. */
const TASKS_USUAL_MAX = 5_000;
const MS_PER_TASK = 0.5;

/** 100,000 tasks take about 2 s, and many more on a slow disk. */
const startTimeoutMs = (tasks: number): number | undefined =>
  tasks > TASKS_USUAL_MAX ? Math.ceil(5_000 + tasks * MS_PER_TASK) : undefined;
