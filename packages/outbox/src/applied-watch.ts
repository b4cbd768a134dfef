import { type Loop, loop } from '@millrace/foundation';
import type { Kit } from './kit.js';
import type { AppliedVersion } from './registry.js';

/** An applied version, and what an instance can run of it. */
export interface AppliedRow {
  readonly version: number;
  readonly name: string;
  readonly taskCount: number;
  /** null for a version that the instance has seen. */
  readonly hasSome: boolean | null;
  /** A handler that the instance lacks. */
  readonly missing: string | null;
}

/** The DAGs that were applied as data. */
export interface AppliedStore {
  /** Lists the stored versions, with what an instance that has the versions `own` can run of them. */
  applied(own: readonly number[], seen: readonly number[], limit: number): Promise<readonly AppliedRow[]>;
}

/** A lost hint delays a DAG that another instance applied by at most this long. */
const LOOK_EVERY_MS = 10_000;

/** Maximum number of applied versions under names that this instance's code lacks. Older ones are not run here. */
const VERSIONS_MAX = 10_000;

/**
 * Makes the loop that finds DAGs applied as data by any instance, and tells the registry which of them this one can run.
 * @param afterChange - called when this instance can run more than before.
 */
export function appliedWatchOf(
  { options, registry, wakeUps }: Kit,
  store: AppliedStore,
  afterChange: () => void,
): Loop {
  let known: ReadonlyMap<number, AppliedVersion> = new Map();
  /** The own versions with which `known` was read. */
  let knownWith = '';
  const look = async () => {
    const { versions } = registry;
    const own = versions.join();
    // Other DAGs of its own bring other handlers, so applied DAGs that it could not run before may run now.
    const before: typeof known = own === knownWith ? known : new Map();
    const rows = await store.applied(versions, [...before.keys()], VERSIONS_MAX);
    const fresh = rows.filter(({ version }) => !before.has(version));
    knownWith = own;
    known = new Map(rows.map((row) => [row.version, before.get(row.version) ?? toApplied(row)]));
    registry.noteApplied([...known.values()]);
    for (const { name: dag, version, hasSome, missing: handler } of fresh) {
      if (!hasSome || handler === null) continue;
      options.logger.info({ dag, version, handler }, 'Applied DAG has handlers that this instance lacks');
    }
    if (fresh.some(({ hasSome }) => hasSome)) afterChange();
  };
  const watch = loop(options, 'Find applied DAGs', LOOK_EVERY_MS, look, { unref: true });
  wakeUps.on(({ kind }) => {
    if (kind === 'applied') watch.trigger();
  });
  return watch;
}

const toApplied = ({ name, version, taskCount, hasSome, missing }: AppliedRow): AppliedVersion => ({
  name,
  version,
  taskCount,
  hasSome: hasSome ?? false,
  hasAll: hasSome === true && missing === null,
});
