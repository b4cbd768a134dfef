import { readFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { nearestKey, toWorkError } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import { type ReadSettings, unknownProblem } from './read-environment.js';
import { type GivenSetting, SECTIONS, SETTINGS } from './settings.js';

const NAMES = ['millrace.config.js', 'millrace.config.json'];
const BYTE_ORDER_MARK = /^\uFEFF/;

/**
 * Reads the file of settings: the one that is named, else the one in the working directory, if there is one.
 * @throws MillraceError `CONFIG_INVALID` for a file that cannot be read; never with what stands in it, which may be a secret.
 */
export async function readConfigFile(
  folder: string,
  named: string | undefined,
): Promise<ReadSettings & { readonly file: string | undefined }> {
  const file = named === undefined ? findFile(folder) : resolve(folder, named);
  if (file === undefined) return { file, given: new Map(), problems: [] };
  const content = file.endsWith('.json') ? readJson(file) : await importSettings(file);
  if (!isPlainObject(content)) throw refuse(file, 'must hold an object of settings');
  return { file, ...settingsIn(content, file) };
}

function findFile(folder: string): string | undefined {
  const found = NAMES.map((name) => join(folder, name)).filter((file) => textOf(file) !== undefined);
  if (found.length > 1) throw refuse(folder, `has both ${NAMES.join(' and ')}; keep one of them`);
  return found[0];
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').replace(BYTE_ORDER_MARK, '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw refuse(file, `cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function readJson(file: string): unknown {
  const text = textOf(file);
  if (text === undefined) throw refuse(file, 'does not exist');
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 quotes what stands around the mistake.
    const position = /position (\d+)/.exec((error as Error).message)?.[1];
    throw refuse(file, `is no JSON${position === undefined ? '' : ` (position ${position})`}`);
  }
}

async function importSettings(file: string): Promise<unknown> {
  if (textOf(file) === undefined) throw refuse(file, 'does not exist');
  let module: { readonly default?: unknown };
  try {
    module = await import(pathToFileURL(file).href);
  } catch (error) {
    throw refuse(file, `cannot be loaded: ${toWorkError(error).message}`, error);
  }
  return module.default;
}

function settingsIn(content: Readonly<Record<string, unknown>>, file: string): ReadSettings {
  const given = new Map<string, GivenSetting>();
  const problems: string[] = [];
  const where = basename(file);
  const known: string[] = [...SETTINGS.map(({ path }) => path), ...SECTIONS];
  const take = (path: string, value: unknown) => {
    if (value === undefined) return;
    const origin = `${path} in ${where}`;
    if (known.includes(path)) given.set(path, { value: fromFile(path, value, file), origin });
    else problems.push(unknownProblem(origin, nearestKey(path, [...known, 'limits'])));
  };
  for (const [key, value] of Object.entries(content)) {
    if (key !== 'limits') take(key, value);
    else if (!isPlainObject(value)) problems.push(`limits in ${where} must be an object`);
    else for (const [limit, most] of Object.entries(value)) take(`limits.${limit}`, most);
  }
  return { given, problems };
}

/** A file is read from wherever a process was started: what it names is beside it. */
function fromFile(path: string, value: unknown, file: string): unknown {
  const isPath = SETTINGS.some((setting) => setting.path === path && setting.isPath);
  if (!isPath || typeof value !== 'string' || value === '' || isAbsolute(value)) return value;
  return join(dirname(file), value);
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const refuse = (file: string, reason: string, cause?: unknown) =>
  ERRORS.create('CONFIG_INVALID', { problems: `${file} ${reason}` }, { cause });
