import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TcpProxy } from '@millrace/testkit';
import { programFile } from '../programs.js';

/**
 * What the processes printed last: their folder goes with the scenario.
 * @param folder - the scenario's.
 */
export const lastWords = (folder: string): string =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .map((name) => `${name}: ${readFileSync(join(folder, name), 'utf8').slice(-500)}`)
    .join('\n');

/** The address of a store behind a wire that can be cut. */
export const through = (wire: TcpProxy, url: string): string =>
  Object.assign(new URL(url), { hostname: '127.0.0.1', port: wire.port }).href;

/** Makes the tables of a server, as its user would. */
export async function migrate(config: string): Promise<void> {
  await promisify(execFile)(process.execPath, [programFile('millrace'), 'migrate', '--config', config], {
    env: {},
  });
}
