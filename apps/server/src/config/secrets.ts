import type { ServerConfig } from './model.js';
import { type Environment, PART_VARIABLES } from './settings.js';

/** What stands where a secret was. */
const MASK = '***';
const SECRET_NAME = /pass|secret|key|token/i;
const SECRET_PARAMETER = /([?&][^=&#]*(?:pass|secret|key|token)[^=&#]*=)[^&#]*/gi;
const PASSWORD = /^([^:]+:\/\/[^/?#:]*:)([^/?#]*)@/;

/** The settings that hold secrets. */
type WithSecrets = { readonly [K in 'apiKeys' | 'redisUrl' | 'databaseUrl']?: ServerConfig[K] | undefined };

/**
 * Every text that must never be seen: the secrets of API keys, the passwords in addresses, the private keys of the parts.
 */
export function secretsOf(
  { apiKeys, redisUrl, databaseUrl }: WithSecrets,
  env: Environment,
): readonly string[] {
  const ofParts = PART_VARIABLES.filter(({ isSecret }) => isSecret).map(({ variable }) => env[variable]);
  const secrets = [
    ...(apiKeys ?? '').split(',').map((key) => key.split(':').at(-1)?.trim()),
    ...[redisUrl, databaseUrl, ...ofParts].flatMap(secretsIn),
  ];
  return [...new Set(secrets.filter((secret) => secret !== undefined && secret !== ''))] as string[];
}

/**
 * A secret setting as it may be shown: who and where stay, what opens the door does not.
 * @param value - an address, API keys, or a secret as a whole.
 */
export function masked(value: string): string {
  if (!urlOf(value)) return value.split(',').map(maskedKey).join(',');
  return value.replace(PASSWORD, `$1${MASK}@`).replaceAll(SECRET_PARAMETER, `$1${MASK}`);
}

/** `name:role[:tenant]:secret`; of anything else nothing is shown. */
function maskedKey(text: string): string {
  const parts = text.trim().split(':');
  return parts.length === 3 || parts.length === 4 ? [...parts.slice(0, -1), MASK].join(':') : MASK;
}

/** As they are written, and as whoever uses them reads them. */
function secretsIn(value: string | undefined): string[] {
  if (value === undefined) return [];
  const url = urlOf(value);
  if (!url) return [value];
  const parameters = [...url.searchParams]
    .filter(([name]) => SECRET_NAME.test(name))
    .flatMap(([, text]) => [text, encodeURIComponent(text)]);
  const written = PASSWORD.exec(value)?.[2] ?? '';
  return [written, url.password, decoded(url.password), ...parameters].filter((text) => text !== '');
}

function urlOf(value: string): URL | undefined {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(value) && URL.canParse(value) ? new URL(value) : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
