import { collectDefaultMetrics, Registry } from 'prom-client';

let registry: Registry | undefined;

/**
 * What is known of this process: memory, processor time, event loop, garbage collection. One for all servers of a process, since
 * prom-client watches the process for as long as it lives, and each watch costs.
 */
export function processMetrics(): Registry {
  if (!registry) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
  }
  return registry;
}
