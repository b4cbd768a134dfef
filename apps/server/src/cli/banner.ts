import { resolve } from 'node:path';
import { isEmbedded, type ServerConfig } from '../config/model.js';
import { masked } from '../config/secrets.js';
import { duration } from './show/amounts.js';

/** What is told of a server that has started. */
export interface Started {
  readonly url: string;
  readonly version: string;
  readonly pid: number;
  readonly folder: string;
}

/**
 * What a person should know of a server that has started: where it is, where it keeps things, what would be lost, who may call it.
 */
export function bannerOf(config: ServerConfig, { url, version, pid, folder }: Started): readonly string[] {
  const { databaseUrl, redisUrl, dataDir, role, apiKeys } = config;
  const database =
    databaseUrl === undefined
      ? `${resolve(folder, dataDir)} (PGlite does not fsync: a crash of the machine may lose the last ones)`
      : masked(databaseUrl);
  const bulk =
    redisUrl === undefined ? 'in memory: they end with this process; REDIS_URL keeps them' : masked(redisUrl);
  const callers =
    apiKeys === ''
      ? 'everybody on this machine, without a key'
      : 'only with an API key (Authorization: Bearer SECRET)';
  return [
    `Millrace ${version} serves ${url} (role ${role}, process ${pid}${isEmbedded(config) ? ', embedded' : ''})`,
    ...(role === 'worker'
      ? []
      : [`  page                 ${url}/`, `  what it can be asked ${url}/api/docs`]),
    `  batches, operations  ${database}`,
    `  bulk jobs            ${bulk}`,
    '  chats                in memory: they end with this process',
    `  callers              ${callers}`,
  ];
}

/**
 * The same to whoever has read all that a moment ago: a file has changed, and another server has taken the place of the last one.
 * @param url - where it is; another one, with port 0.
 */
export const servesAgain = (url: string, tookMs: number): string =>
  `Millrace serves again: ${url} (${duration(tookMs)})`;
