import { type Loop, loop } from '@millrace/foundation';
import type { Kit } from './kit.js';
import { workerPrefix } from './options.js';
import type { TaskOutcomes } from './task-outcomes.js';

const EXPIRED_MAX = 100;
const NOTES_MAX = 200;
const EVERY_MAX_MS = 5_000;

/** Longer than any delay or lease. A later time was written by a clock that has jumped. */
const AHEAD_MAX_MS = 86_400_000;

/** Makes the loop that releases tasks of workers that died. Any number of instances may run one. */
export const sweeperOf = (kit: Kit, outcomes: TaskOutcomes): Loop =>
  loop(kit.options, 'Release lost tasks', Math.min(kit.options.leaseMs / 3, EVERY_MAX_MS), () =>
    sweep(kit, outcomes),
  );

async function sweep({ options, tasks, registry, events }: Kit, outcomes: TaskOutcomes): Promise<void> {
  const { database, logger } = options;
  const embedded = database.kind === 'pglite';
  // There are no heartbeats, so this worker's own leases say nothing, and no other process can be alive.
  const who = { passOver: embedded ? workerPrefix() : undefined, othersAreDead: embedded };
  for (;;) {
    const expired = await tasks.expired(who, EXPIRED_MAX);
    const count = expired.length === 0 ? 0 : await outcomes.expired(expired, { embedded });
    if (count > 0) {
      events.emit('lease-expired', { count });
      logger.warn({ count }, 'Leases of tasks expired; other workers can claim them');
    }
    if (expired.length < EXPIRED_MAX || count === 0) break;
  }
  while (await tasks.tidyLeases(NOTES_MAX));
  const clamped = await tasks.clampTimes(registry.names, AHEAD_MAX_MS);
  if (clamped > 0)
    logger.warn({ clamped }, 'Database clock jumped back; start times far in the future were corrected');
}
