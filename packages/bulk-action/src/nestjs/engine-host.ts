import { BulkActionEngine } from '../engine.js';
import type { BulkStore } from '../ports.js';
import type { JobProcessor } from '../processor.js';
import { type EngineServices, engineServices } from '../services/engine-services.js';
import { RedisKeyBuilder } from '../services/redis-key-builder.js';
import type { AllFound } from './discovery.js';
import type { ResolvedBulkActionModuleOptions } from './options.js';

/** One engine of an application, and its life. */
export class EngineHost {
  readonly engine: BulkActionEngine;
  readonly services: EngineServices;
  readonly keys: RedisKeyBuilder;
  readonly #options: ResolvedBulkActionModuleOptions;
  readonly #shipped: readonly JobProcessor<never, unknown>[];

  private constructor(
    options: ResolvedBulkActionModuleOptions,
    store: BulkStore | undefined,
    shipped: readonly JobProcessor<never, unknown>[],
  ) {
    const { config, clock, rng, log, threads, redis } = options;
    this.engine = new BulkActionEngine({ config, clock, rng, log, threads, store });
    this.services = engineServices(this.engine);
    this.keys = new RedisKeyBuilder({ keyPrefix: redis?.keyPrefix, shards: config.shards });
    this.#options = options;
    this.#shipped = shipped;
  }

  /**
   * Makes an engine; nothing runs yet, and no connection is open.
   * @param given - see ResolvedBulkActionModuleOptions.
   * @param name - of the engine: stands in its log lines.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `ENVIRONMENT_INVALID`.
   */
  static async make(given: ResolvedBulkActionModuleOptions, name?: string): Promise<EngineHost> {
    const options = name === undefined ? given : { ...given, log: given.log.child({ engine: name }) };
    const { config, redis, clock, rng, log, shippedProcessors: wanted } = options;
    // Loaded only where they are wanted: ioredis is an optional peer, and the mail and push libraries take their time.
    const store =
      redis && (await import('../redis/open-store.js')).openRedisStore(config, redis, { clock, rng, log });
    const shipped =
      wanted === false
        ? []
        : (await import('../processors/shipped-processors.js')).shippedProcessors(
            wanted === true ? {} : wanted,
            { clock },
          );
    return new EngineHost(options, store, shipped);
  }

  /**
   * Registers what options and modules bring; a shipped processor only where nobody else has its type.
   * @param found - what the modules bring for this engine.
   * @throws MillraceError `PROCESSOR_CONFLICT`, `AGGREGATOR_CONFLICT`, `OPTION_INVALID`.
   */
  register({ processors, aggregators }: AllFound): void {
    const { engine } = this;
    for (const processor of this.#options.processors) engine.processors.register(processor, OPTIONS);
    for (const { value, origin } of processors) engine.processors.register(value, origin);
    for (const processor of this.#shipped)
      if (!engine.processors.get(processor.type)) engine.processors.register(processor);
    for (const aggregator of this.#options.aggregators) engine.aggregators.register(aggregator, OPTIONS);
    for (const { value, origin } of aggregators) engine.aggregators.register(value, origin);
  }

  /**
   * Runs jobs; a start that fails leaves no connection open.
   * @throws MillraceError `BACKEND_UNAVAILABLE` and what else the store refuses to work with.
   */
  async start(): Promise<void> {
    try {
      await this.engine.start();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Takes no more jobs, lets those that run finish within the grace period, gives the rest back. Handing in still works. */
  async drain(): Promise<void> {
    await Promise.all([this.engine.pool.stop(), this.engine.held.stop()]);
  }

  /** Ends everything, whatever the store does. */
  async close(): Promise<void> {
    await this.engine.stop();
    // An engine that was never started has closed nothing, and services may have used its store all the same.
    await this.engine.store.stop();
  }
}

const OPTIONS = 'one in the options of BulkActionModule';
