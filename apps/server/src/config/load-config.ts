import { printable } from '@millrace/foundation';
import type { z } from 'zod';
import { ERRORS } from '../errors.js';
import { ApiKeys } from '../security/api-keys.js';
import { sectionProblems } from './check-sections.js';
import { ServerConfig } from './model.js';
import { readEnvironment, readFlags } from './read-environment.js';
import { readConfigFile } from './read-file.js';
import { type Environment, type GivenSetting, type GivenSettings, SETTINGS } from './settings.js';

/** Where settings are looked for. */
export interface ConfigSources {
  /** The value of each flag by the path of its setting; `config` names the file. */
  readonly flags?: Readonly<Record<string, string | undefined>> | undefined;
  readonly env: Environment;
  /** The working directory. */
  readonly folder: string;
}

/** All settings, and where each was set. */
export interface LoadedConfig {
  readonly config: ServerConfig;
  /** What somebody has set, by the path of the setting; everything else is a default. */
  readonly given: GivenSettings;
  /** The file that was read, if there was one. */
  readonly file: string | undefined;
}

/**
 * Finds the settings of a server: flag, then environment, then file, then default.
 * @throws MillraceError `CONFIG_INVALID`: all that is wrong (`details.all`, a sentence each), where it was set, what was expected and
 * what was given; no secrets.
 */
export async function loadConfig({ flags = {}, env, folder }: ConfigSources): Promise<LoadedConfig> {
  const { file, ...fromFile } = await readConfigFile(folder, flags.config);
  const fromEnvironment = readEnvironment(env);
  const given = new Map([...fromFile.given, ...fromEnvironment.given, ...readFlags(flags)]);
  const problems = [...fromEnvironment.problems, ...fromFile.problems];
  const { data: config, error } = ServerConfig.safeParse(nested(given));
  if (error) problems.push(...new Set(error.issues.map((issue) => problemOf(issue, given))));
  else
    problems.push(...keyProblems(config, given), ...sectionProblems(config, (name) => origin(given, name)));
  if (!config || problems.length > 0) {
    // The message shows the beginning of a long text only.
    const details = { problems: problems.join('; '), all: problems };
    throw ERRORS.create('CONFIG_INVALID', details);
  }
  return { config, given, file };
}

/** `limits.x` is `x` inside `limits`. */
function nested(given: GivenSettings): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const [path, { value }] of given) {
    const [group = '', name] = path.split('.');
    if (name === undefined) config[group] = value;
    else config[group] = { ...(config[group] as object), [name]: value };
  }
  return config;
}

function problemOf(issue: z.core.$ZodIssue, given: GivenSettings): string {
  const path = issue.path.slice(0, issue.path[0] === 'limits' ? 2 : 1).join('.');
  const setting = SETTINGS.find((one) => one.path === path);
  if (issue.code === 'custom' && issue.params?.neededBy)
    return `the role ${issue.params.neededBy} needs ${setting?.variable}: processes of one role find the others through Redis and PostgreSQL`;
  const expected = setting?.expected ?? 'an object of settings';
  const { value } = given.get(path) as GivenSetting;
  const shown = setting?.isSecret
    ? '(not shown)'
    : typeof value === 'string'
      ? `'${printable(value)}'`
      : printable(value);
  return `${origin(given, path)} must be ${expected}, got ${shown}`;
}

function keyProblems({ apiKeys }: ServerConfig, given: GivenSettings): string[] {
  try {
    new ApiKeys(apiKeys);
    return [];
  } catch (error) {
    if (!ERRORS.is(error, 'CONFIG_INVALID')) throw error;
    return [String(error.details.problems).replace(/^apiKeys/, origin(given, 'apiKeys'))];
  }
}

const origin = (given: GivenSettings, path: string): string => given.get(path)?.origin ?? path;
