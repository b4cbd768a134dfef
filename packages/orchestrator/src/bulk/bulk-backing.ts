import {
  ERRORS as BULK_ERRORS,
  type BulkActionService,
  type GroupEvent,
  type GroupResult,
  hasEnded,
} from '@millrace/bulk-action';
import { routeOf } from '../check-command.js';
import { ERRORS } from '../errors.js';
import { type EndListener, HandedOver } from '../handed-over.js';
import type { Backing, Envelope } from '../model.js';
import type { OpId } from '../op-id.js';
import { ORCHESTRATOR_DEFAULTS } from '../options.js';
import { Outcome } from '../outcome.js';
import type { BackedOperation, BackingLook, RoutedOperation } from '../ports.js';
import type { BackedRoute, BackingAdapter } from '../routes.js';
import { outcomeOrReference } from '../rules/outcomes.js';
import { type BulkDefinition, checkBulkRoute, checkedJobs } from './bulk-route.js';

/** Options of a BulkBacking. */
export interface BulkBackingOptions {
  /** The service of the engine that runs the jobs. */
  readonly service: Pick<
    BulkActionService,
    'submitBulk' | 'getGroup' | 'getResult' | 'cancelGroup' | 'subscribe'
  >;
  /** Maximum size of a result that is stored with its operation (1 MiB). A larger one is stored as a reference. */
  readonly outcomeBytesMax?: number | undefined;
}

/** Only the first round belongs to the operation. Failed jobs that are redriven later do not change it. */
const ROUND = 1;
const KIND = 'bulk';

/** Makes the group id of an operation, as the service expects it. */
const refOf = ({ tenant, opId }: Pick<RoutedOperation, 'tenant' | 'opId'>): string =>
  tenant === '' ? opId : `${tenant}/${opId}`;

/** Hands commands over to bulk-action, as groups. */
export class BulkBacking implements BackingAdapter {
  readonly kind = KIND;
  readonly #service: BulkBackingOptions['service'];
  readonly #outcomeBytesMax: number;
  readonly #handedOver: HandedOver;

  constructor({ service, outcomeBytesMax = ORCHESTRATOR_DEFAULTS.outcomeBytesMax }: BulkBackingOptions) {
    this.#service = service;
    this.#outcomeBytesMax = outcomeBytesMax;
    this.#handedOver = new HandedOver(() => service.subscribe((event) => this.#hear(event)));
  }

  check(name: string, route: BackedRoute): void {
    checkBulkRoute(name, route);
  }

  /**
   * Makes the sealed group of an operation with all its jobs. A repetition continues where the last one ended.
   * @param route - made by `bulk`.
   * @throws MillraceError `HANDOVER_INVALID`, and those of `submitBulk`, such as `QUEUE_FULL` and `BACKEND_UNAVAILABLE`.
   */
  async submit(envelope: Envelope, route: BackedRoute): Promise<Backing> {
    const { opId, tenant, traceparent, command } = envelope;
    const { toGroup } = route.definition as BulkDefinition;
    const { jobs, ...definition } = await toGroup(command, { opId, tenant, traceparent });
    const all = checkedJobs(routeOf(command), jobs);
    const ref = refOf(envelope);
    this.#handedOver.remember(opId, ref);
    try {
      await this.#service.submitBulk({ ...definition, id: opId, tenant, traceparent }, all);
    } catch (error) {
      if (!(await this.#isSubmitted(ref, error))) {
        this.#handedOver.forget(opId);
        throw error;
      }
    }
    return { kind: KIND, ref };
  }

  /**
   * Reports whether a group was rejected because an earlier submission of the operation has made it. A group that has ended
   * forgets its jobs after a while, and a newer release may make another group of the same command. No other caller names
   * a group after an operation.
   */
  async #isSubmitted(ref: string, error: unknown): Promise<boolean> {
    const isRefused =
      BULK_ERRORS.is(error, 'GROUP_SEALED') ||
      BULK_ERRORS.is(error, 'GROUP_CONFLICT') ||
      BULK_ERRORS.is(error, 'SEAL_TOTAL_MISMATCH');
    if (!isRefused) return false;
    const { sealed, status } = await this.#service.getGroup(ref);
    if (sealed || hasEnded(status)) return true;
    // This submission cannot complete an interrupted one. The operation fails, so its jobs must not run.
    await this.#service.cancelGroup(ref);
    return false;
  }

  async look(operations: readonly BackedOperation[]): Promise<ReadonlyMap<OpId, BackingLook>> {
    const looks = new Map<OpId, BackingLook>();
    const failures: unknown[] = [];
    await Promise.all(
      operations.map(async ({ opId, backing }) => {
        try {
          looks.set(opId, await this.#lookAt(backing));
        } catch (error) {
          failures.push(error);
        }
      }),
    );
    // Unread groups are checked again later. If none could be read, the caller logs why.
    if (looks.size === 0 && failures.length > 0) throw failures[0];
    return looks;
  }

  async #lookAt(backing: Backing): Promise<BackingLook> {
    try {
      const result = await this.#service.getResult(backing.ref, { round: ROUND });
      if (!result) return { kind: 'running' };
      return { kind: 'ended', outcome: outcomeOfResult(result, backing, this.#outcomeBytesMax) };
    } catch (error) {
      if (BULK_ERRORS.is(error, 'GROUP_NOT_FOUND')) return { kind: 'gone' };
      throw error;
    }
  }

  async cancel(operation: RoutedOperation): Promise<void> {
    try {
      await this.#service.cancelGroup(refOf(operation));
    } catch (error) {
      if (!BULK_ERRORS.is(error, 'GROUP_NOT_FOUND')) throw error;
    }
  }

  /** Subscribes to the ends of groups handed over here. Returns a function that unsubscribes. */
  onSettled(listener: EndListener): () => void {
    return this.#handedOver.listen(listener);
  }

  #hear({ type, groupId, tenant, round }: GroupEvent): void {
    if (round !== ROUND || (type !== 'group.completed' && type !== 'group.failed')) return;
    const opId = this.#handedOver.take(tenant === '' ? groupId : groupId.slice(tenant.length + 1), groupId);
    if (opId === undefined) return;
    // Only a hint: after a failure the next check finds the end.
    this.#lookAt({ kind: KIND, ref: groupId })
      .then((look) => {
        if (look.kind === 'ended') this.#handedOver.tell(opId, look.outcome);
      })
      .catch(() => {});
  }
}

/**
 * Returns the outcome of an operation whose group has ended.
 * @param bytesMax - maximum size of a result that is stored with its operation.
 */
function outcomeOfResult(result: GroupResult, backing: Backing, bytesMax: number): Outcome {
  const { status, total, success, failed, cancelled } = result;
  if (status === 'COMPLETED') return outcomeOrReference(result, backing, bytesMax);
  const cause = { groupId: result.groupId, total, success, failed, cancelled };
  if (status === 'CANCELLED') return Outcome.fail('CANCELLED', ERRORS.create('CANCELLED', {}).message, cause);
  const { message } = ERRORS.create('GROUP_FAILED', { group: result.groupId, reason: result.code ?? status });
  return Outcome.fail(result.code ?? 'GROUP_FAILED', result.message ?? message, cause);
}
