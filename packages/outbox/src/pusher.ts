import { NO_TENANT } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import { checkedText, encodePayload, KEY_LENGTH_MAX, requireKeyFits } from './batch-input.js';
import { ERRORS } from './errors.js';
import type { Kit } from './kit.js';
import type { Batch } from './model.js';

/** What a batch may be started with besides its payload. */
export interface StartOptions {
  /** The caller's own transaction: the batch exists if and when it commits. */
  readonly tx?: Tx | undefined;
  /** Opens another run when the latest one has ended; otherwise the latest is what you get. */
  readonly ifEnded?: 'rerun' | undefined;
  /** '' unless given. */
  readonly tenant?: string | undefined;
  /** W3C trace context that its tasks are told. */
  readonly traceparent?: string | undefined;
}

/** A batch, and whether this call made it. */
export interface StartedBatch extends Batch {
  /** False: its business key had one already. */
  readonly created: boolean;
}

const TRACEPARENT_LENGTH_MAX = 200;

/** How often a start is repeated that met another one of the same key which was then rolled back. */
const TRIES = 5;

/** Starts batches. */
export class Pusher {
  readonly #kit: Kit;

  constructor(kit: Kit) {
    this.#kit = kit;
  }

  /**
   * Starts a batch with all its tasks, in one transaction; or gives the latest run of its business key, whatever its state. May be repeated
   * after a failure: there is one batch per key and run.
   * @param dag - name of a registered DAG; its applied definition, or this instance's own, or the one registered last when it has none.
   * @param payload - anything JSON can carry; given to every task.
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

  /** The own poller first: it tells the others when there is more than it can take. */
  #tell({ id, tenant, dag, bizKey }: Batch): void {
    const hint = { kind: 'work', dag } as const;
    this.#kit.wakeUps.here(hint);
    if (!this.#kit.options.poll || !this.#kit.registry.names.includes(dag)) this.#kit.wakeUps.others(hint);
    this.#kit.events.emit('started', { id, tenant, dag, bizKey });
  }
}

/** Up to here a batch fits into the time of any other statement. */
const TASKS_USUAL_MAX = 5_000;
const MS_PER_TASK = 0.5;

/** 100,000 tasks take about two seconds, and on a slow disk many more. */
const startTimeoutMs = (tasks: number): number | undefined =>
  tasks > TASKS_USUAL_MAX ? Math.ceil(5_000 + tasks * MS_PER_TASK) : undefined;
