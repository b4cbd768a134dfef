import { type Loop, loop } from '@millrace/foundation';
import { type Operation, operationFields } from './model.js';
import type { ResolvedOrchestratorOptions } from './options.js';
import type { OrchestratorParts } from './parts.js';

const PRUNE_EVERY_MS = 60_000;
const PRUNE_LIMIT = 1_000;
const REAP_LIMIT = 100;

/** Makes the loop that deletes operations `retentionMs` after their end. */
export function prunerOf(options: ResolvedOrchestratorOptions): Loop {
  const { store, retentionMs } = options;
  const prune = async () => {
    while ((await store.repairs.prune(retentionMs, PRUNE_LIMIT)) === PRUNE_LIMIT);
  };
  return loop(options, 'Delete old operations', PRUNE_EVERY_MS, prune, { unref: true });
}

/**
 * Makes the loop that releases operations whose lease expired. A worker then claims them. Those that must not run again
 * fail.
 * @param onReleased - called when operations became due.
 */
export function reaperOf(parts: OrchestratorParts, onReleased: () => void): Loop {
  const { options, events, waits } = parts;
  const { store, logger, reaperIntervalMs } = options;
  const reap = async () => {
    for (;;) {
      const reaped = await store.repairs.reap(REAP_LIMIT);
      for (const { operation, became, waited } of reaped) {
        const { opId, attempts } = operation;
        const fields = { ...operationFields(operation), attempts, became };
        logger.warn(fields, 'Lease of an operation expired');
        events.emit('repaired', { by: 'reaper', opId, became });
        if (became === 'failed') {
          await cancelBacking(options, operation);
          waits.announceEnd({ kind: 'settled', operation, waited });
        }
      }
      if (reaped.some(({ became }) => became === 'released')) onReleased();
      if (reaped.length < REAP_LIMIT) return;
    }
  };
  return loop(options, 'Release operations of silent instances', reaperIntervalMs, reap, { unref: true });
}

/** Cancels work that may have been submitted before its instance died and is not needed any more. */
async function cancelBacking(
  { executor, logger }: ResolvedOrchestratorOptions,
  operation: Operation,
): Promise<void> {
  const { domain, eventType } = operation;
  try {
    const kind = executor.traits?.({ domain, eventType }).kind;
    if (kind !== undefined) await executor.backings?.get(kind)?.cancel(operation);
  } catch (error) {
    const fields = { ...operationFields(operation), reason: String(error) };
    logger.warn(fields, 'Backing of a failed operation not cancelled');
  }
}
