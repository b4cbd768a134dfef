import { seededRng } from '@millrace/foundation';
import { ManualClock, recordingLogger } from '@millrace/testkit';
import { MemoryOperationStore } from '../src/memory/store.js';
import type { CommandInput } from '../src/model.js';
import type { OrchestratorOptions } from '../src/options.js';
import { OrchestratorService } from '../src/orchestrator-service.js';
import type { OperationStore } from '../src/ports.js';
import { RouteExecutor, type RouteExecutorOptions } from '../src/route-executor.js';
import type { Routes } from '../src/routes.js';

/** One instance of an orchestrator in a world where a test holds the time. */
interface Instance {
  readonly service: OrchestratorService;
  readonly executor: RouteExecutor;
}

/** Instances on one memory store and one clock. */
export interface World {
  readonly clock: ManualClock;
  readonly store: MemoryOperationStore;
  readonly lines: ReturnType<typeof recordingLogger>['lines'];
  /** Starts another instance. */
  open(
    routes: Routes,
    options?: Partial<OrchestratorOptions>,
    executing?: Partial<RouteExecutorOptions>,
  ): Promise<Instance>;
}

/** Makes a world. */
export function openWorld(): World {
  const clock = new ManualClock();
  const store = new MemoryOperationStore({ clock });
  const { log, lines } = recordingLogger();
  let count = 0;
  return {
    clock,
    store,
    lines,
    async open(routes, options = {}, executing = {}) {
      const name = `instance-${++count}`;
      const rng = seededRng(name);
      const executor = new RouteExecutor({ routes, clock, rng, logger: log, ...executing });
      const service = new OrchestratorService({
        executor,
        store,
        clock,
        rng,
        owner: name,
        logger: log,
        ...options,
      });
      await service.start();
      return { service, executor };
    },
  };
}

/** A command of the route `ORDER.PLACE`, or another one. */
export const command = (
  bizKey: string,
  {
    route = 'ORDER.PLACE',
    payload = null,
    idemKey,
  }: { route?: string; payload?: unknown; idemKey?: string } = {},
): CommandInput => {
  const [domain = '', eventType = ''] = route.split('.');
  return { domain, eventType, bizKey, payload, ...(idemKey !== undefined && { idemKey }) };
};

/** Moves the clock until a call has its answer, one millisecond at a time. */
export async function answered<T>(clock: ManualClock, call: Promise<T>, longestMs = 10_000): Promise<T> {
  let done = false;
  const marked = call.finally(() => {
    done = true;
  });
  marked.catch(() => {});
  await clock.advance(0);
  for (let ms = 0; !done && ms < longestMs; ms++) await clock.advance(1);
  return marked;
}

/** A store that a test can freeze: calls made then never answer, or answer when it thaws. */
export function freezable(inner: OperationStore) {
  let thawed: Promise<void> | undefined;
  let thaw = () => {};
  const wrap = <T extends object>(port: T): T =>
    new Proxy(port, {
      get(target, name) {
        const member = Reflect.get(target, name, target) as unknown;
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          const call = () => Reflect.apply(member, target, args) as unknown;
          return thawed ? thawed.then(call) : call();
        };
      },
    });
  const store: OperationStore = {
    runs: wrap(inner.runs),
    repairs: wrap(inner.repairs),
    views: wrap(inner.views),
    notices: inner.notices,
    start: () => inner.start(),
    stop: () => inner.stop(),
  };
  return {
    store,
    freeze() {
      thawed ??= new Promise((resolve) => {
        thaw = resolve;
      });
    },
    thaw() {
      thaw();
      thawed = undefined;
    },
  };
}
