import {
  type BulkActionConfig,
  BulkActionEngine,
  type BulkStore,
  type JobProcessor,
  resolveBulkActionConfig,
} from '@millrace/bulk-action';
import { RedisStore } from '@millrace/bulk-action/redis';
import { RedisConnection } from '@millrace/redis';
import { KEY_PREFIX } from './settings.js';

/** What an engine is opened with. */
export interface EngineParts {
  readonly url: string;
  readonly config: BulkActionConfig;
  readonly processors?: readonly JobProcessor<never, unknown>[];
  /** Stands between engine and store. */
  readonly between?: (store: BulkStore) => BulkStore;
}

/** An engine on Redis, and how to end it with its connection. */
export interface OpenEngine extends AsyncDisposable {
  readonly engine: BulkActionEngine;
  close(): Promise<void>;
}

/**
 * Makes an engine on Redis; it is not started.
 * @param parts - see EngineParts.
 */
export function openEngine({
  url,
  config,
  processors = [],
  between = (store) => store,
}: EngineParts): OpenEngine {
  const connection = new RedisConnection({ url });
  const store = new RedisStore(resolveBulkActionConfig(config), { connection, keyPrefix: KEY_PREFIX });
  const engine = new BulkActionEngine({ config, processors, store: between(store) });
  const close = async () => {
    try {
      await engine.stop();
    } finally {
      await connection.stop();
    }
  };
  return { engine, close, [Symbol.asyncDispose]: close };
}
