import type { ServerConfig } from '../config/model.js';
import { ERRORS } from '../errors.js';
import type { ApiKeys } from './api-keys.js';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/i;

/**
 * Refuses to listen where others can reach it without keys.
 * @throws MillraceError `KEYS_REQUIRED`.
 */
export function requireKeys({ host }: Pick<ServerConfig, 'host'>, keys: Pick<ApiKeys, 'size'>): void {
  if (keys.size === 0 && !LOOPBACK.test(host)) throw ERRORS.create('KEYS_REQUIRED', { host });
}
