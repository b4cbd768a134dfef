import { type Bench, registeredBench } from './registry.js';

/**
 * Every benchmark and the module that registers it, in the order in which all of them run. Only what is asked for is loaded: with all
 * peers, loading takes a second.
 */
const MODULES: Readonly<Record<string, () => Promise<unknown>>> = {
  'async-utils': () => import('./async-utils.js'),
  bulk: () => import('./bulk.js'),
  'bulk-memory': () => import('./bulk-memory.js'),
  'bulk-shards': () => import('./bulk-shards.js'),
  congestion: () => import('./congestion.js'),
  dashboard: () => import('./dashboard.js'),
  orchestrator: () => import('./orchestrator.js'),
  outbox: () => import('./outbox.js'),
  'outbox-large': () => import('./outbox.js'),
  'outbox-strain': () => import('./outbox.js'),
  runtime: () => import('./runtime.js'),
  server: () => import('./server.js'),
};

/** The names of all benchmarks. */
export const benchNames = (): readonly string[] => Object.keys(MODULES);

/** Loads a benchmark; its name is one of {@link benchNames}. */
export async function loadBench(name: string): Promise<Bench> {
  await MODULES[name]?.();
  const bench = registeredBench(name);
  if (!bench) throw new Error(`The module of '${name}' registers no benchmark of that name`);
  return bench;
}
