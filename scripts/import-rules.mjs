/**
 * Which of our packages the source of a package may import. Imports point down only; what is not listed is refused.
 * `rooms` holds what is allowed in one folder of `src` and nowhere else, `typesOnly` what may be imported for its types, and whose code may not.
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
  // One value of the schemas would bring zod along, which is as large as the rest of the page.
  'apps/dashboard': {
    may: ['contract'],
    typesOnly: /^(zod(\/.*)?|@millrace\/contract(?!\/server-client$)(\/.*)?)$/,
  },
};

/** Workspaces that look at the system from outside: they may import every package. */
export const OUTSIDE = ['bench', 'chaos'];

/** Libraries that talk to something outside the process or belong to a framework, and where each may be imported. */
export const LIBRARY_HOMES = [
  { libraries: /^ioredis$/, homes: [/^packages\/redis\//, /^packages\/testkit\//, /\/src\/redis\//] },
  {
    libraries: /^(pg|@electric-sql\/pglite)$/,
    homes: [/^packages\/postgres\//, /^packages\/testkit\//, /\/src\/postgres\//],
  },
  {
    libraries: /^(nodemailer(\/.*)?|web-push|undici|ipaddr\.js)$/,
    homes: [/\/src\/processors\//],
  },
  { libraries: /^prom-client$/, homes: [/\/src\/metrics\//, /^apps\/server\//] },
  {
    libraries: /^(@nestjs\/.*|rxjs(\/.*)?|reflect-metadata)$/,
    homes: [/\/src\/nestjs\//, /^apps\/server\//],
  },
  {
    libraries: /^node:(fs|net|tls|http|https|http2|dns|dgram|child_process|cluster|worker_threads)(\/.*)?$/,
    homes: [
      /^packages\/(redis|postgres|testkit)\//,
      /\/src\/(redis|postgres|nestjs|system|threads|processors)\//,
      /^apps\//,
    ],
  },
];

/** Source that must take time and randomness from what it is given: the core of every package but async-utils. */
export const isCore = (path) =>
  /^packages\/(?!async-utils|testkit|redis|postgres)[^/]+\/src\//.test(path) &&
  !/\/src\/(system|nestjs|redis|postgres)\//.test(path);

/** Pure functions only. */
export const isRule = (path) => /^packages\/[^/]+\/src\/rules\//.test(path);
