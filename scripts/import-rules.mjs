/**
 * The packages of ours that the source of each package may import. `rooms` adds packages for one folder of `src`, `typesOnly` allows only the types of a
 * package.
 */
export const LAYERS = {
  'packages/async-utils': { may: [] },
  'packages/foundation': { may: [] },
  'packages/contract': { may: [] },
  'packages/redis': { may: ['foundation'] },
  'packages/postgres': { may: ['foundation'] },
  'packages/runtime': { may: ['async-utils', 'foundation'], rooms: { redis: ['redis'] } },
  'packages/bulk-action': { may: ['async-utils', 'foundation'], rooms: { redis: ['redis'] } },
  'packages/outbox': { may: ['async-utils', 'foundation', 'postgres'] },
  'packages/orchestrator': {
    may: ['async-utils', 'foundation', 'postgres'],
    rooms: { bulk: ['bulk-action'], batch: ['outbox'], nestjs: ['contract'] },
  },
  'packages/testkit': {
    may: [
      'foundation',
      'async-utils',
      'redis',
      'postgres',
      'runtime',
      'bulk-action',
      'outbox',
      'orchestrator',
    ],
  },
  'apps/server': {
    may: [
      'async-utils',
      'foundation',
      'redis',
      'postgres',
      'runtime',
      'bulk-action',
      'outbox',
      'orchestrator',
      'contract',
    ],
  },
  // One value of the schemas would add zod, which is as large as the rest of the page.
  'apps/dashboard': {
    may: ['contract'],
    typesOnly: /^(zod(\/.*)?|@millrace\/contract(?!\/server-client$)(\/.*)?)$/,
  },
};

/**
 * The order of each source folder. A file imports from its own step and from the steps before it. A step names folders and files directly in `src`. '.' is
 * all files there that no step names. `index.ts` comes last and may import everything.
 */
export const LADDERS = {
  'packages/async-utils/src': '. < nestjs',
  'packages/foundation/src': '. < metrics nestjs',
  'packages/contract/src': '. < client',
  'packages/redis/src': 'errors < assembler < .',
  'packages/postgres/src': '. < pg pglite',
  'packages/runtime/src': 'model errors options ports < memory < . < threads < redis < lanes < chat < nestjs',
  'packages/bulk-action/src': `
    model states errors options config-sections lease aggregation aggregator processor congestion-stats refusals store-views
    thread-runner < rules < ports shard-port < . < sharding < memory < redis < pool < processors < services < engine
    aggregator-service backpressure-service < metrics < nestjs < next`,
  'packages/bulk-action/src/next/engine':
    'state < format < changes < results < congestion < fair < run < groups < views < .',
  'packages/outbox/src':
    'model states errors options events define-dag < rules < ports < . < postgres < outbox migrate < metrics < nestjs',
  'packages/orchestrator/src': `
    model states errors events op-id stored-json outcome < rules < ports < options protection < . <
    routes define-routes prepared-route run-inline route-executor < memory < postgres < bulk < batch < metrics < nestjs`,
  'packages/testkit/src': '.',
  'apps/server/src': `
    errors log define-app version < config < compose < security http page docs < fleet events health metrics < bulk < outbox < chat <
    demo < . < cli`,
  'apps/dashboard/src': 'rules < data < look parts actions < pages < shell < .',
  'bench/src': `
    measure registry rows gauges < report < threads < . < server < bulk bulk-memory bulk-shards < outbox < congestion < orchestrator <
    dashboard < benches run`,
  'chaos/src':
    '. < bulk < outbox < pglite < orchestrator < rolling < server < soak < children < scenarios < mutants < run',
};

/** Workspaces that use the system from outside and may import every package. */
export const OUTSIDE = ['bench', 'chaos'];

/** A folder or a file of one of these names, anywhere below `src`. */
const at = (names) => new RegExp(`/src/(.+/)?(${names})(/|\\.ts$)`);

/** Libraries that do I/O or belong to a framework, and the places that may import each. */
export const LIBRARY_HOMES = [
  { libraries: /^ioredis$/, homes: [/^packages\/redis\//, /^packages\/testkit\//, at('redis')] },
  {
    libraries: /^(pg|@electric-sql\/pglite)$/,
    homes: [/^packages\/postgres\//, /^packages\/testkit\//, at('postgres')],
  },
  {
    libraries: /^(nodemailer(\/.*)?|web-push|undici|ipaddr\.js)$/,
    homes: [at('processors')],
  },
  { libraries: /^prom-client$/, homes: [at('metrics'), /^apps\/server\//] },
  {
    libraries: /^(@nestjs\/.*|rxjs(\/.*)?|reflect-metadata)$/,
    homes: [at('nestjs'), /^apps\/server\//],
  },
  {
    libraries: /^node:(fs|net|tls|http|https|http2|dns|dgram|child_process|cluster|worker_threads)(\/.*)?$/,
    homes: [
      /^packages\/(redis|postgres|testkit)\//,
      at('redis|postgres|nestjs|system|threads|processors'),
      /^apps\//,
    ],
  },
];

/** Source that gets time and randomness as arguments: the core of every package except async-utils. */
export const isCore = (path) =>
  /^packages\/(?!async-utils|testkit|redis|postgres)[^/]+\/src\//.test(path) &&
  !at('system|nestjs|redis|postgres').test(path) &&
  !/^packages\/(foundation\/src\/(clock|rng)|contract\/src\/client\/timing)\.ts$/.test(path);

/** Pure functions only. */
export const isRule = (path) => /^packages\/[^/]+\/src\/rules\//.test(path);
