import { ERRORS as FOUNDATION_ERRORS, NO_TENANT, printable } from '@millrace/foundation';
import { type Tx, toJson } from '@millrace/postgres';
import { ERRORS } from './errors.js';
import type { Batch } from './model.js';
import type { ResolvedOutboxOptions } from './options.js';
import type { BatchStore } from './postgres/batch-store.js';
import type { DagRegistry } from './registry.js';
import type { WakeUps } from './wake-ups.js';

/** What a batch may be started with besides its payload. */
export interface StartOptions {
  /** The caller's own transaction: the batch exists if and when it commits. */
  readonly tx?: Tx | undefined;
  /** Opens another run when the latest one has ended; otherwise the latest is what you get. */
  readonly ifEnded?: 'rerun' | undefined;
  /** '' unless given. */
  readonly tenant?: string | undefined;
  readonly traceparent?: string | undefined;
}

/** A batch, and whether this call made it. */
export interface StartedBatch extends Batch {
  /** False: its business key had one already. */
  readonly created: boolean;
}

const KEY_LENGTH_MAX = 500;
/** Of tenant and business key together, in UTF-8: they share an index with the name of the DAG, and its rows have a limit. */
const KEY_BYTES_MAX = 2_000;
const TRACEPARENT_LENGTH_MAX = 200;

/** How often a start is repeated that met another one of the same key which was then rolled back. */
const TRIES = 5;

/** Starts batches. */
export class Pusher {
  readonly #store: BatchStore;
  readonly #registry: DagRegistry;
  readonly #wakeUps: WakeUps;
  readonly #options: ResolvedOutboxOptions;

  /**
   * @param parts - of the outbox.
   * @param options - limits.
   */
  constructor(
    parts: { readonly store: BatchStore; readonly registry: DagRegistry; readonly wakeUps: WakeUps },
    options: ResolvedOutboxOptions,
  ) {
    this.#store = parts.store;
    this.#registry = parts.registry;
    this.#wakeUps = parts.wakeUps;
    this.#options = options;
  }

  /**
   * Starts a batch with all its tasks, in one transaction; or gives the latest run of its business key, whatever its state. May be repeated
   * after a failure: there is one batch per key and run.
   * @param dag - name of a registered DAG; this instance's own definition, or the one registered last when it has none.
   * @param bizKey - names the batch within its tenant and DAG.
   * @param payload - anything JSON can carry; given to every task.
   * @param options - see StartOptions.
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
      version: this.#registry.versionOf(dag),
      bizKey: checked,
      payload: this.#encode(dag, payload),
      traceparent:
        traceparent === undefined
          ? undefined
          : checkedText('traceparent', traceparent, 0, TRACEPARENT_LENGTH_MAX),
      rerun: ifEnded === 'rerun',
      schedule: undefined,
    };
    if (Buffer.byteLength(batch.tenant) + Buffer.byteLength(bizKey) > KEY_BYTES_MAX) {
      const expected = `with its tenant at most ${KEY_BYTES_MAX} bytes of UTF-8`;
      throw FOUNDATION_ERRORS.create('ID_INVALID', { kind: 'bizKey', expected, given: printable(bizKey) });
    }
    for (let attempt = 1; ; attempt++) {
      const made = await this.#store.start(batch, tx);
      if (made) {
        if (!tx) this.#tell(dag);
        return { ...made, created: true };
      }
      const found = await this.#store.find(batch, tx);
      if (found) return { ...found, created: false };
      if (attempt === TRIES || !(await this.#store.hasDag(dag, tx)))
        throw ERRORS.create('DAG_NOT_FOUND', { dag });
    }
  }

  /** The own poller first: it tells the others when there is more than it can take. */
  #tell(dag: string): void {
    const hint = { kind: 'work', dag } as const;
    this.#wakeUps.here(hint);
    if (!this.#options.poll || !this.#registry.names.includes(dag)) this.#wakeUps.others(hint);
  }

  #encode(dag: string, payload: unknown): string {
    const text = toJson(payload);
    const given = Buffer.byteLength(text);
    const { payloadBytesMax: max } = this.#options;
    if (given > max)
      throw ERRORS.create('BATCH_TOO_LARGE', {
        what: 'The payload in bytes',
        dag,
        given,
        max,
        option: 'payloadBytesMax',
      });
    return text;
  }
}

function checkedText(kind: string, value: unknown, min: number, max: number): string {
  if (typeof value === 'string' && value.length >= min && value.length <= max) return value;
  const expected = `a text of ${min} to ${max} characters`;
  throw FOUNDATION_ERRORS.create('ID_INVALID', { kind, expected, given: printable(value) });
}
