import { seededRng } from '@millrace/foundation';
import { ManualClock, recordingLogger } from '@millrace/testkit';
import {
  type BulkActionConfig,
  BulkActionEngine,
  type BulkActionEngineOptions,
  type BulkStore,
  engineServices,
  type JobInput,
  MemoryStore,
  resolveBulkActionConfig,
} from '../../src/index.js';

/** An engine whose pool is not started, so that everything is done by hand, and its services. */
export function byHand(
  given: BulkActionConfig = {},
  more: Pick<BulkActionEngineOptions, 'processors' | 'aggregators'> & {
    readonly around?: (store: BulkStore) => BulkStore;
  } = {},
) {
  const clock = new ManualClock();
  const config = { workerPool: { workerCount: 0 }, ...given };
  const memory = new MemoryStore(resolveBulkActionConfig(config), { clock });
  const { around = (store) => store, ...parts } = more;
  const { log, lines } = recordingLogger();
  const engine = new BulkActionEngine({
    ...parts,
    config,
    clock,
    rng: seededRng('by hand'),
    log,
    store: around(memory),
  });
  return {
    clock,
    engine,
    memory,
    lines,
    ...engineServices(engine),
    /** A sealed group of jobs `j0`, `j1`, … */
    submit: (id: string, count: number, job: Partial<JobInput> = {}) =>
      engine.service.submitBulk(
        { id },
        Array.from({ length: count }, (_, n) => ({ id: `j${n}`, processorType: 'T', payload: n, ...job })),
      ),
    counts: async (id: string) => {
      const { success, failed, pending, inFlight, nonReady } = await engine.service.getProgress(id);
      return { success, failed, pending, inFlight, nonReady };
    },
    job: (group: string, id: string) => engine.service.getJob(group, id),
  };
}
