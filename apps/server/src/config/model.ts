import { z } from 'zod';

const count = z.int().min(0);
const positive = z.int().min(1);
/** The longest that timers can wait. */
const durationMs = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);

const Limits = z.strictObject({
  bodyBytesMax: positive.default(4_194_304).describe('The most bytes of a JSON body; more is answered 413.'),
  jobsPerRequest: positive.default(10_000).describe('The most jobs of one JSON body; more is answered 413.'),
  jobsPerUpload: positive
    .default(10_000_000)
    .describe('The most lines of one application/x-ndjson body; more is answered 413.'),
  uploadStallMs: durationMs
    .default(60_000)
    .describe(
      'A sender of an application/x-ndjson body that is silent for so long is cut off; any other body must be complete by then.',
    ),
  streamsMax: positive
    .default(1_000)
    .describe('Streams of events that may be open at once; more are answered 429.'),
  streamsPerKey: positive
    .default(250)
    .describe('Streams of events that one key may have open at once; more are answered 429.'),
  streamStallMs: durationMs
    .default(30_000)
    .describe('A client that takes nothing of a stream or of an answer for so long is dropped.'),
  requestsPerSecond: count
    .default(2_000)
    .describe(
      'Requests of one key (of one address, without keys) in a second; more are answered 429. 0: no limit.',
    ),
});

const url = (scheme: RegExp) => z.string().regex(scheme).refine(URL.canParse);

const section = z.record(z.string(), z.unknown()).default({});

const Settings = z.strictObject({
  port: z.int().min(0).max(65_535).default(3000).describe('Where to listen; 0: any free port.'),
  host: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Where to listen. Anything but this machine needs API keys.'),
  role: z
    .enum(['all', 'api', 'worker'])
    .default('all')
    .describe(
      'all: everything in one process. api: answers requests. worker: runs jobs, tasks and operations.',
    ),
  dataDir: z
    .string()
    .min(1)
    .default('.millrace')
    .describe('Where the embedded database is, without databaseUrl.'),
  redisUrl: url(/^rediss?:/)
    .optional()
    .describe('Where bulk jobs are; in memory without it.'),
  databaseUrl: url(/^postgres(ql)?:/)
    .optional()
    .describe('The PostgreSQL of batches and operations; embedded (PGlite) without it.'),
  databasePoolSize: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe(
      'The most connections to databaseUrl at once; one more listens. Without it 15, or 3 more than outbox.concurrency.',
    ),
  schema: z.string().min(1).default('millrace').describe('The schema of the tables.'),
  keyPrefix: z.string().min(1).default('bulk-action:').describe('What all keys in Redis begin with.'),
  apiKeys: z.string().default('').describe('name:role[:tenant]:secret, separated by commas.'),
  app: z.string().min(1).optional().describe('The module that exports defineApp(…).'),
  logLevel: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('The lowest level that is logged: trace, debug, info, warn, error, fatal or silent.'),
  gracePeriodMs: durationMs
    .default(30_000)
    .describe('How long a stop may take after SIGTERM; work has 70 % of it.'),
  startWaitMs: durationMs
    .default(30_000)
    .describe('How long a start waits for Redis and PostgreSQL to answer.'),
  limits: Limits.prefault({}),
  bulk: section.describe('Settings of bulk-action: BulkActionConfig.'),
  outbox: section.describe('Settings of outbox: OutboxOptions.'),
  orchestrator: section.describe('Settings of orchestrator: OrchestratorOptions.'),
  chat: section.describe('Settings of the lanes of chat: TaskManagerConfig.'),
});

/** All settings of a server, with their defaults. Unknown ones are refused. */
export const ServerConfig = Settings.superRefine((config, context) => {
  if (config.role === 'all') return;
  // Alone with its memory and its own files it would wait for work, or hand it to nobody, for ever.
  for (const path of ['redisUrl', 'databaseUrl'] as const)
    if (config[path] === undefined)
      context.addIssue({ code: 'custom', path: [path], params: { neededBy: config.role } });
});
/** All settings of a server. */
export type ServerConfig = z.infer<typeof ServerConfig>;

/** Settings as they are given; what is left out has its default. */
export type GivenServerConfig = z.input<typeof ServerConfig>;

/**
 * Whether this process needs nothing but itself: then its data directory is its own, and nobody else works for it.
 */
export const isEmbedded = (config: Pick<ServerConfig, 'databaseUrl' | 'redisUrl'>): boolean =>
  config.databaseUrl === undefined && config.redisUrl === undefined;
