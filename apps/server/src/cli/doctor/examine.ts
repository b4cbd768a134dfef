import { systemClock } from '@millrace/foundation';
import { secretsOf } from '../../config/secrets.js';
import { secretHider } from '../../log.js';
import { VERSION } from '../../version.js';
import type { Surroundings } from '../surroundings.js';
import type { Finding } from './finding.js';
import { lookAtMachine, lookAtNode } from './machine/look-at-machine.js';
import { lookAtSettings } from './machine/settings.js';
import { lookAtServer } from './server/look-at-server.js';

/** From which side something was looked at. */
type Side = 'machine' | 'server';

/** A finding, and where it belongs. */
export interface SidedFinding extends Finding {
  readonly side: Side;
}

/** What is looked at. */
export interface Examination {
  readonly surroundings: Pick<Surroundings, 'env' | 'folder'>;
  /** The file of settings, where one is named. */
  readonly configFile: string | undefined;
  readonly url: string;
  /** Somebody has named the server: then it should be there. */
  readonly isNamed: boolean;
  readonly apiKey: string | undefined;
  readonly watchMs: number;
  readonly signal: AbortSignal;
}

/**
 * Looks at this machine and at a running server. Changes nothing, and every look has its time limit.
 * @returns findings as they come, without secrets; one that both sides show is told once.
 * @throws the signal's reason.
 */
export async function* examine(examination: Examination): AsyncGenerator<SidedFinding> {
  const { surroundings, configFile, apiKey, signal } = examination;
  const { env } = surroundings;
  const settings = await lookAtSettings(surroundings, configFile);
  const { MILLRACE_API_KEYS: apiKeys, REDIS_URL: redisUrl, DATABASE_URL: databaseUrl } = env;
  const secrets = secretsOf(settings.config ?? { apiKeys, redisUrl, databaseUrl }, env);
  const hide = secretHider(apiKey === undefined ? secrets : [...secrets, apiKey]);
  const told = new Set<string>();
  for await (const found of all(examination, settings)) {
    signal.throwIfAborted();
    const { title, seen, action } = found;
    const once = `${found.check} ${title} ${seen}`;
    if (told.has(once)) continue;
    told.add(once);
    yield {
      ...found,
      title: hide(title),
      seen: seen === null ? null : hide(seen),
      action: action === null ? null : hide(action),
    };
  }
}

async function* all(
  examination: Examination,
  { config, findings }: Awaited<ReturnType<typeof lookAtSettings>>,
): AsyncGenerator<SidedFinding> {
  const clock = systemClock;
  const { surroundings, signal } = examination;
  const machine = (found: Finding): SidedFinding => ({ side: 'machine', ...found });
  yield machine(lookAtNode());
  for (const found of findings) yield machine(found);
  if (config)
    for await (const found of lookAtMachine(config, surroundings, clock, signal)) yield machine(found);
  for await (const found of lookAtServer({ ...examination, version: VERSION, clock }))
    yield { side: 'server', ...found };
}
