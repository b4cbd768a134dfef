import { seededRng } from '@millrace/foundation';
import { type LogLine, ManualClock, recordingLogger } from '@millrace/testkit';
import { ERRORS } from '../../src/errors.js';
import { MemoryStore } from '../../src/memory/store.js';
import { type BulkActionConfig, resolveBulkActionConfig } from '../../src/options.js';
import type { SettledTry } from '../../src/pool/job-tries.js';
import { WorkerPool, type WorkerPoolOptions } from '../../src/pool/worker-pool.js';
import type { BulkStore, GroupDefinition, NewJob } from '../../src/ports.js';
import { type JobProcessor, ProcessorRegistry } from '../../src/processor.js';

export const definitionOf = (id: string, more: Partial<GroupDefinition> = {}): GroupDefinition => ({
  key: `/${id}`,
  tenant: '',
  tenantId: id,
  weight: 1,
  priorityLevel: 'normal',
  timeoutMs: 3_600_000,
  traceparent: '',
  ...more,
});

export const jobOf = (id: string, more: Partial<NewJob> = {}): NewJob => ({
  id,
  processorType: 'T',
  payload: JSON.stringify({ n: id }),
  cost: 1,
  ...more,
});

/** Ids `j1`, `j2` … */
export const jobsOf = (count: number, more: Partial<NewJob> = {}): NewJob[] =>
  Array.from({ length: count }, (_, index) => jobOf(`j${index + 1}`, more));

export interface BenchOptions extends Partial<Pick<WorkerPoolOptions, 'threads' | 'instanceId'>> {
  readonly config?: BulkActionConfig;
  readonly processors?: readonly JobProcessor<never, unknown>[];
  /** Puts something between the pool and the real store. */
  readonly around?: (store: BulkStore, clock: ManualClock) => BulkStore;
  /** Where the processors need it before the pool is made. */
  readonly clock?: ManualClock;
  /** A store that another pool uses too. */
  readonly shared?: { readonly clock: ManualClock; readonly memory: MemoryStore };
}

/** A pool on a memory store under a clock that stands still. */
export function bench(options: BenchOptions = {}) {
  const { config: given = {}, processors = [], around, shared, clock: own, ...rest } = options;
  const clock = shared?.clock ?? own ?? new ManualClock();
  const config = resolveBulkActionConfig(given);
  const memory = shared?.memory ?? new MemoryStore(config, { clock });
  const { log, lines } = recordingLogger();
  const settled: SettledTry[] = [];
  const store = around ? around(memory, clock) : memory;
  const registry = new ProcessorRegistry(processors);
  const pool = new WorkerPool({
    store,
    config,
    processors: registry,
    clock,
    rng: seededRng(1),
    log,
    instanceId: 'one',
    onSettled: (one) => void settled.push(one),
    ...rest,
  });
  return {
    clock,
    config,
    memory,
    store,
    pool,
    registry,
    lines,
    settled,
    linesOf: (level: LogLine['level']) => lines.filter((line) => line.level === level),
    submit: async (group: string, jobs: readonly NewJob[], more: Partial<GroupDefinition> = {}) => {
      const definition = definitionOf(group, more);
      await memory.groups.add(definition, jobs, jobs.length);
      await memory.groups.seal(definition.key);
    },
    counts: async (group: string) => (await memory.views.group(`/${group}`))?.counts,
    job: (group: string, id: string) => memory.views.job(`/${group}`, id),
  };
}

type Port = 'gate' | 'leases' | 'upkeep' | 'watch' | 'instances';
type Member<P extends Port> = keyof BulkStore[P] & string;

/** The same store, with something around one of its calls. */
export function aroundCall<P extends Port>(
  store: BulkStore,
  port: P,
  member: Member<P>,
  around: (call: () => Promise<unknown>, args: readonly unknown[]) => Promise<unknown>,
): BulkStore {
  const real = store[port] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const wrapped = (...args: unknown[]) =>
    around(() => (real[member] as (typeof real)[string])(...args), args);
  return Object.assign(Object.create(store), { [port]: { ...real, [member]: wrapped } });
}

export const unavailable = (reason = 'switched off by the test') =>
  ERRORS.create('BACKEND_UNAVAILABLE', { reason });

/** A call that is executed and whose answer is lost, as often as told. */
export function losingAnswers(times: number) {
  let left = times;
  return async (call: () => Promise<unknown>): Promise<unknown> => {
    const answer = await call();
    if (left-- > 0) throw unavailable('the answer was lost');
    return answer;
  };
}

export const forEver = (): Promise<never> => new Promise<never>(() => {});
