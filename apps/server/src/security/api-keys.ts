import { createHash, timingSafeEqual } from 'node:crypto';
import type { ServerConfig } from '../config/model.js';
import { ERRORS } from '../errors.js';
import { ANYBODY, type Caller, LOCAL_CALLER } from './caller.js';

const ROLES = ['read', 'operate', 'admin'] as const;
const SECRET_CHARACTERS_MIN = 24;
/** The audit log and the logs call those so who have no key. */
const NAMES_TAKEN = [LOCAL_CALLER.name, ANYBODY.name];

interface ApiKey {
  readonly caller: Caller;
  readonly hash: Buffer;
}

/** The keys of a server. Secrets are kept as hashes only. */
export class ApiKeys {
  readonly #keys: readonly ApiKey[];

  /**
   * @param text - `name:role[:tenant]:secret`, separated by commas; empty for none.
   * @throws MillraceError `CONFIG_INVALID`; it names the key, never its secret.
   */
  constructor(text: string) {
    this.#keys = text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map(parseKey);
  }

  /** How many there are. */
  get size(): number {
    return this.#keys.length;
  }

  /** Whose secret it is. Takes the same time for every secret of one length, right or wrong. */
  find(secret: string): Caller | undefined {
    const hash = hashOf(secret);
    let found: Caller | undefined;
    for (const key of this.#keys) if (timingSafeEqual(key.hash, hash)) found ??= key.caller;
    return found;
  }
}

const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

function parseKey(text: string, index: number): ApiKey {
  const parts = text.split(':');
  const [name = '', role = ''] = parts;
  const secret = parts.at(-1) ?? '';
  const tenant = parts.length === 4 ? parts[2] : undefined;
  const refuse = (reason: string) =>
    ERRORS.create('CONFIG_INVALID', { problems: `apiKeys: key ${index + 1} ${reason}` });
  if (parts.length < 3 || parts.length > 4) throw refuse('must be name:role[:tenant]:secret');
  if (!/^[\w.@-]{1,100}$/.test(name)) throw refuse('needs a name of letters, digits and . _ @ -');
  if (NAMES_TAKEN.includes(name)) throw refuse(`needs another name: ${name} means callers without a key`);
  if (!ROLES.some((known) => known === role)) throw refuse(`(${name}) needs the role read, operate or admin`);
  if (tenant === '') throw refuse(`(${name}) has an empty tenant; leave it out for all tenants`);
  // What the engines take as one: with any other every request of the key would fail.
  if (tenant !== undefined && !/^[\w.-]{1,128}$/.test(tenant))
    throw refuse(`(${name}) needs a tenant of letters, digits and . _ -`);
  if (secret.length < SECRET_CHARACTERS_MIN)
    throw refuse(`(${name}) needs a secret of at least ${SECRET_CHARACTERS_MIN} characters`);
  // What a header can carry after Bearer: with any other every request of the key would be refused.
  if (!/^[!-~]+$/.test(secret))
    throw refuse(`(${name}) needs a secret of printable ASCII characters without spaces`);
  return { caller: Object.freeze({ name, role: role as Caller['role'], tenant }), hash: hashOf(secret) };
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/i;

/**
 * Rejects a host that other machines can reach if the server has no keys.
 * @throws MillraceError `KEYS_REQUIRED`.
 */
export function requireKeys({ host }: Pick<ServerConfig, 'host'>, keys: Pick<ApiKeys, 'size'>): void {
  if (keys.size === 0 && !LOOPBACK.test(host)) throw ERRORS.create('KEYS_REQUIRED', { host });
}
