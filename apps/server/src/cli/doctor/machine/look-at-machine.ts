import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Clock, toWorkError } from '@millrace/foundation';
import { unlessAborted } from '../../../compose/await-backends.js';
import type { ServerConfig } from '../../../config/model.js';
import type { Surroundings } from '../../surroundings.js';
import { type Finding, finding } from '../finding.js';
import { judgeClocks } from '../rules/clocks.js';
import { judgeNode } from '../rules/versions.js';
import { lookAtApp } from './app.js';
import { type BackendCheck, checkPostgres, checkRedis } from './backends.js';
import { lookAtDataDir } from './embedded.js';

const ENGINES = JSON.parse(
  readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'),
).engines;

/** Whether this Node can run a server. */
export const lookAtNode = (): Finding => judgeNode(process.versions.node, ENGINES.node);

/**
 * Looks at everything that a server would need that is started here. All of it at once: one that is away costs its time only once.
 * @returns findings as they come, always in the same order.
 * @throws the signal's reason.
 */
export async function* lookAtMachine(
  config: ServerConfig,
  { folder }: Pick<Surroundings, 'folder'>,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const { redisUrl, databaseUrl, dataDir, app } = config;
  const dataDirLook = async () => plain(await lookAtDataDir(resolve(folder, dataDir)));
  const looks = [
    databaseUrl === undefined
      ? told('embedded', dataDirLook())
      : told('postgres', checkPostgres(config, databaseUrl, clock)),
    ...(redisUrl === undefined ? [] : [told('redis', checkRedis(redisUrl, clock))]),
    ...(app === undefined ? [] : [told('app', lookAtApp(app, clock).then(plain))]),
  ];
  for (const look of looks) yield* (await unlessAborted(look, signal)).findings;
  const clocks = (await Promise.all(looks)).flatMap((look) => look.clock ?? []);
  const judged = judgeClocks('clocks', clocks);
  if (judged) yield judged;
}

const plain = (findings: readonly Finding[]): BackendCheck => ({ findings, clock: undefined });

/** A look that fails is a finding too, and never one that nobody waits for. */
const told = (check: string, look: Promise<BackendCheck>): Promise<BackendCheck> =>
  look.catch((error: unknown) =>
    plain([finding('failure', check, 'It could not be looked at', { seen: toWorkError(error).message })]),
  );
