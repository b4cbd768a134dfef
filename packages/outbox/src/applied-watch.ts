import { Repeating } from '@millrace/foundation';
import type { ResolvedOutboxOptions } from './options.js';
import type { AppliedRow, DagViews } from './postgres/dag-views.js';
import type { AppliedVersion, DagRegistry } from './registry.js';
import type { WakeUps } from './wake-ups.js';

/** Hints may be lost: after so long, every instance knows of a DAG that was applied by another one. */
const LOOK_EVERY_MS = 10_000;

/** The newest so many applied versions are run under names that this instance's code does not have. Old ones are pruned when no batch needs them. */
const VERSIONS_MAX = 10_000;

/** Finds out which DAGs were applied as data, by whatever instance, and what of them this one can run. */
export class AppliedWatch {
  readonly #views: DagViews;
  readonly #registry: DagRegistry;
  readonly #wakeUps: WakeUps;
  readonly #options: ResolvedOutboxOptions;
  readonly #afterChange: () => void;
  readonly #looking: Repeating;
  #known: ReadonlyMap<number, AppliedVersion> = new Map();
  /** The own versions that `#known` was asked for. */
  #own = '';
  #unlisten: () => void = () => {};

  /** @param afterChange - told when this instance can run more than before. */
  constructor(
    parts: { readonly views: DagViews; readonly registry: DagRegistry; readonly wakeUps: WakeUps },
    options: ResolvedOutboxOptions,
    afterChange: () => void,
  ) {
    this.#views = parts.views;
    this.#registry = parts.registry;
    this.#wakeUps = parts.wakeUps;
    this.#options = options;
    this.#afterChange = afterChange;
    const { clock, rng, logger } = options;
    this.#looking = new Repeating(
      { clock, rng, logger, what: 'Looking for applied DAGs', everyMs: LOOK_EVERY_MS, unref: true },
      () => this.#look(),
    );
  }

  /** Begins to look. */
  start(): void {
    this.#unlisten = this.#wakeUps.on(({ kind }) => {
      if (kind === 'applied') this.#looking.now();
    });
    this.#looking.start();
  }

  /** Ends it, after the look that is under way. */
  stop(): Promise<void> {
    this.#unlisten();
    return this.#looking.stop();
  }

  async #look(): Promise<void> {
    const { versions } = this.#registry;
    const own = versions.join();
    // With other DAGs of its own it has other handlers: what it could not run before it may run now.
    const known: ReadonlyMap<number, AppliedVersion> = own === this.#own ? this.#known : new Map();
    const rows = await this.#views.applied(versions, [...known.keys()], VERSIONS_MAX);
    const fresh = rows.filter(({ version }) => !known.has(version));
    this.#own = own;
    this.#known = new Map(rows.map((row) => [row.version, known.get(row.version) ?? toApplied(row)]));
    this.#registry.noteApplied([...this.#known.values()]);
    for (const { name: dag, version, hasSome, missing: handler } of fresh) {
      if (!hasSome || handler === null) continue;
      this.#options.logger.info(
        { dag, version, handler },
        'An applied DAG has handlers that this instance does not have',
      );
    }
    if (fresh.some(({ hasSome }) => hasSome)) this.#afterChange();
  }
}

const toApplied = ({ name, version, taskCount, hasSome, missing }: AppliedRow): AppliedVersion => ({
  name,
  version,
  taskCount,
  hasSome: hasSome ?? false,
  hasAll: hasSome === true && missing === null,
});
