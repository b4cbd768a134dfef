import { nearestKey } from '@millrace/foundation';
import {
  type Environment,
  type GivenSetting,
  type GivenSettings,
  SETTINGS,
  type Setting,
} from './settings.js';

const OWN_PREFIX = 'MILLRACE_';
/** What the tests of this repository tell each other; servers that they start inherit it. */
const OF_TESTS = /^MILLRACE_(TEST_|SIM_|DIFF_|DAG_|RACE_|PARALLEL|SERIAL)/;

/** Which server the commands ask, and with which key: no settings of a server. */
const OF_COMMANDS = ['MILLRACE_URL', 'MILLRACE_API_KEY'];

/** What flags or variables say. */
export interface ReadSettings {
  readonly given: GivenSettings;
  /** What cannot be used, one sentence each. */
  readonly problems: readonly string[];
}

/**
 * Reads the variables that are settings of a server.
 * @param env - such as `process.env`.
 */
export function readEnvironment(env: Environment): ReadSettings {
  const given = new Map<string, GivenSetting>();
  for (const setting of SETTINGS) {
    const text = env[setting.variable] ?? '';
    if (text !== '') given.set(setting.path, { value: readText(setting, text), origin: setting.variable });
  }
  const known = SETTINGS.map(({ variable }) => variable);
  const isKnown = (name: string) => known.includes(name) || OF_COMMANDS.includes(name) || OF_TESTS.test(name);
  const problems = Object.keys(env)
    .filter((name) => name.startsWith(OWN_PREFIX) && !isKnown(name))
    .map((name) => unknownProblem(`the variable ${name}`, nearestKey(name, known)));
  return { given, problems };
}

/**
 * Reads flags.
 * @param flags - the value of each by the path of its setting.
 */
export function readFlags(flags: Readonly<Record<string, string | undefined>>): GivenSettings {
  const given = new Map<string, GivenSetting>();
  for (const setting of SETTINGS) {
    const text = flags[setting.path];
    if (text !== undefined && setting.flag !== undefined)
      given.set(setting.path, { value: readText(setting, text), origin: setting.flag });
  }
  return given;
}

/**
 * Says that something is not known, and what is near.
 * @param what - that is not known.
 */
export const unknownProblem = (what: string, nearest: string | undefined): string =>
  nearest === undefined ? `${what} is not known` : `${what} is not known; did you mean ${nearest}?`;

/** Number() alone would take '', '0x10' and '1e3'; what is no number stays a text, for the schema to refuse. */
function readText({ isNumber }: Setting, text: string): unknown {
  return isNumber && /^\s*[+-]?\d+\s*$/.test(text) ? Number(text) : text;
}
