import type { LoadedConfig } from './load-config.js';
import { masked } from './secrets.js';
import { type Environment, PART_VARIABLES, SECTIONS, SETTINGS } from './settings.js';

/** A setting as `millrace config` shows it: never with a secret. */
export interface ShownSetting {
  readonly setting: string;
  /** Null: not set, and there is no default. */
  readonly value: unknown;
  /** Where it comes from: a flag, a variable, the file, `default`. */
  readonly source: string;
}

/** The settings that a server would start with. */
export function shownSettings({ config, given }: LoadedConfig, env: Environment): readonly ShownSetting[] {
  const sourceOf = (path: string) => given.get(path)?.origin ?? 'default';
  const plain = SETTINGS.map(({ path, isSecret }) => {
    const value = valueAt(config, path);
    const hides = isSecret && typeof value === 'string' && value !== '';
    return { setting: path, value: hides ? masked(value) : (value ?? null), source: sourceOf(path) };
  });
  const sections = SECTIONS.map((section) => ({
    setting: section,
    value: config[section],
    source: sourceOf(section),
  }));
  const ofParts = PART_VARIABLES.flatMap(({ variable, isSecret }) => {
    const value = env[variable] ?? '';
    if (value === '') return [];
    return [{ setting: variable, value: isSecret ? masked(value) : value, source: 'environment' }];
  });
  return [...plain, ...sections, ...ofParts];
}

function valueAt(config: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], config);
}
