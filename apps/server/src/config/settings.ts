import { z } from 'zod';
import { ServerConfig } from './model.js';

/** One setting that is a plain value: what it is called in each place where it can be set. */
export interface Setting {
  /** In a file, `limits.x` for what is inside `limits`. */
  readonly path: string;
  readonly variable: string;
  /** Only those that people change by hand have one. */
  readonly flag: string | undefined;
  readonly isSecret: boolean;
  /** Whether a relative one of a file is meant from where the file is. */
  readonly isPath: boolean;
  readonly isNumber: boolean;
  /** What it accepts, in words. */
  readonly expected: string;
  readonly description: string;
  readonly default: unknown;
}

/** The parts of a file that are checked by the packages they are for. */
export const SECTIONS = ['bulk', 'outbox', 'orchestrator', 'chat'] as const;

const VARIABLES: Readonly<Record<string, string>> = {
  port: 'PORT',
  host: 'HOST',
  redisUrl: 'REDIS_URL',
  databaseUrl: 'DATABASE_URL',
};
const FLAGS: Readonly<Record<string, string>> = {
  port: '--port',
  host: '--host',
  role: '--role',
  dataDir: '--data-dir',
  app: '--app',
};
const SECRETS = ['apiKeys', 'redisUrl', 'databaseUrl'];
const PATHS = ['dataDir', 'app'];
const EXPECTED: Readonly<Record<string, string>> = {
  redisUrl: 'a URL such as redis://user:password@host:6379/0',
  databaseUrl: 'a URL such as postgres://user:password@host:5432/database',
};

interface Described {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Described>>;
}

/** Every setting that is a plain value, made from the schema: a new one there is known everywhere. */
export const SETTINGS: readonly Setting[] = settingsOf(
  z.toJSONSchema(ServerConfig, { io: 'input' }) as Described,
);

function settingsOf({ properties = {} }: Described, group = ''): Setting[] {
  return Object.entries(properties).flatMap(([name, described]) => {
    const path = group + name;
    if (SECTIONS.some((section) => section === path)) return [];
    if (described.properties) return settingsOf(described, `${path}.`);
    return [
      {
        path,
        variable: VARIABLES[path] ?? variableOf(path),
        flag: FLAGS[path],
        isSecret: SECRETS.includes(path),
        isPath: PATHS.includes(path),
        isNumber: described.type === 'integer',
        expected: EXPECTED[path] ?? expectedOf(described),
        description: described.description ?? '',
        default: described.default,
      },
    ];
  });
}

/** `limits.bodyBytesMax` is MILLRACE_LIMIT_BODY_BYTES_MAX. */
function variableOf(path: string): string {
  const words = path.replace(/^limits\./, 'limit.').replaceAll(/[A-Z]/g, (letter) => `_${letter}`);
  return `MILLRACE_${words.replaceAll('.', '_').toUpperCase()}`;
}

function expectedOf({ type, enum: known, minimum, maximum = Number.MAX_SAFE_INTEGER }: Described): string {
  if (known) return `one of ${known.join(', ')}`;
  if (type !== 'integer') return 'a text that is not empty';
  return maximum === Number.MAX_SAFE_INTEGER
    ? `an integer of at least ${minimum}`
    : `an integer from ${minimum} to ${maximum}`;
}

/** Variables that the parts read by themselves; listed so that they are shown, and that their secrets are known. */
export const PART_VARIABLES: readonly { readonly variable: string; readonly isSecret: boolean }[] = [
  { variable: 'SMTP_URL', isSecret: true },
  { variable: 'SMTP_FROM', isSecret: false },
  { variable: 'VAPID_PUBLIC_KEY', isSecret: false },
  { variable: 'VAPID_PRIVATE_KEY', isSecret: true },
  { variable: 'VAPID_SUBJECT', isSecret: false },
  { variable: 'HTTP_REQUEST_ALLOWED_HOSTS', isSecret: false },
  { variable: 'HTTP_REQUEST_ALLOWED_ADDRESSES', isSecret: false },
  { variable: 'CHAT_API_URL', isSecret: true },
  { variable: 'CHAT_API_KEY', isSecret: true },
  { variable: 'CHAT_MODEL', isSecret: false },
  { variable: 'CHAT_TASK_MAX_WORKERS', isSecret: false },
  { variable: 'CHAT_TASK_QUEUE_MAX_SIZE', isSecret: false },
  { variable: 'CHAT_TASK_STREAM_MAX_CHUNKS', isSecret: false },
  { variable: 'CHAT_TASK_RESULT_TTL_SECONDS', isSecret: false },
  { variable: 'CHAT_TASK_MAX_STORED', isSecret: false },
  { variable: 'CHAT_TASK_CLEANUP_INTERVAL_SECONDS', isSecret: false },
];

/** A value that the user has set. */
export interface GivenSetting {
  readonly value: unknown;
  /** The place of the value, for messages: `--port`, `PORT`, `port in millrace.config.json`. */
  readonly origin: string;
}

/** The values that one place sets, by path of the setting. */
export type GivenSettings = ReadonlyMap<string, GivenSetting>;

/** Variables by name, such as `process.env`. An empty variable counts as missing. */
export type Environment = Readonly<Record<string, string | undefined>>;
