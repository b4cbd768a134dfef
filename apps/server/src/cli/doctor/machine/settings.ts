import { resolveBulkActionConfig } from '@millrace/bulk-action';
import { toWorkError } from '@millrace/foundation';
import { gracePlan } from '../../../compose/grace-plan.js';
import { loadConfig } from '../../../config/load-config.js';
import type { ServerConfig } from '../../../config/model.js';
import { ERRORS } from '../../../errors.js';
import { ApiKeys, requireKeys } from '../../../security/api-keys.js';
import type { Surroundings } from '../../surroundings.js';
import { type Finding, finding } from '../finding.js';
import { judgeTuning } from '../rules/settings.js';

/** What a look at the settings has shown. */
export interface SettingsLook {
  readonly findings: readonly Finding[];
  /** undefined: they cannot be used. */
  readonly config: ServerConfig | undefined;
}

/** Looks at the settings that `millrace start` would have here. */
export async function lookAtSettings(
  { env, folder }: Pick<Surroundings, 'env' | 'folder'>,
  file: string | undefined,
): Promise<SettingsLook> {
  try {
    const { config, file: read } = await loadConfig({ flags: { config: file }, env, folder });
    const where = read === undefined ? 'environment and defaults' : `environment and ${read}`;
    const usable = finding('ok', 'settings', `The settings can be used (${where})`);
    return { config, findings: [usable, ...judgeKeys(config), ...tuning(config)] };
  } catch (error) {
    return { config: undefined, findings: problemsOf(error) };
  }
}

function problemsOf(error: unknown): readonly Finding[] {
  const { message } = toWorkError(error);
  const all = ERRORS.is(error, 'CONFIG_INVALID')
    ? ((error.details.all as readonly string[] | undefined) ?? [String(error.details.problems)])
    : [message];
  return all.map((problem) =>
    finding('failure', 'settings', 'A setting cannot be used', {
      seen: problem,
      action:
        'Correct it where it was set; `millrace config` shows all settings and where each comes from. Nothing else of this machine is looked at until then.',
    }),
  );
}

function judgeKeys(config: ServerConfig): readonly Finding[] {
  try {
    requireKeys(config, new ApiKeys(config.apiKeys));
    return [];
  } catch (error) {
    const seen = toWorkError(error).message;
    return [finding('failure', 'settings.keys', 'A server would refuse to start here', { seen })];
  }
}

function tuning({ role, bulk, gracePeriodMs }: ServerConfig): readonly Finding[] {
  if (role === 'api') return [];
  const { workMs, exitMs } = gracePlan(gracePeriodMs);
  const given = (bulk.workerPool ?? {}) as { readonly shutdownGracePeriodMs?: number };
  const { workerPool } = resolveBulkActionConfig(bulk);
  const shutdownGracePeriodMs = given.shutdownGracePeriodMs ?? workMs;
  return judgeTuning({ ...workerPool, gracePeriodMs, shutdownGracePeriodMs, exitMs });
}
