import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load-config.js';
import { PART_VARIABLES, SETTINGS } from '../../src/config/settings.js';

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly stop_grace_period?: string;
}

const GIVEN: Readonly<Record<string, string>> = {
  MILLRACE_API_KEYS: 'ops:admin:a-secret-of-24-characters',
};

/** What Docker Compose makes of `${NAME:-default}`, and of `${NAME:?message}` where NAME is given. */
const withDefaults = (value: string | number) =>
  String(value).replaceAll(/\$\{(\w+):([-?])([^}]*)\}/g, (_, name: string, kind: string, text: string) =>
    kind === '-' ? text : (GIVEN[name] ?? ''),
  );

describe('compose.yaml', () => {
  const { services } = parse(read('compose.yaml'), { merge: true }) as {
    services: Record<string, Service>;
  };
  const ours = Object.entries(services).filter(([, { image }]) => image === 'millrace');
  const environmentOf = ({ environment = {} }: Service) =>
    Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, withDefaults(value)]));

  it('has two processes of each role over one Redis, one PostgreSQL, and a migration before them', () => {
    const roles = ours.map(([, { environment }]) => environment?.MILLRACE_ROLE).sort();
    expect(roles).toEqual(['api', 'api', 'worker', 'worker', undefined]);
    expect(services.migrate?.command).toEqual(['migrate']);
    const redis = services.redis?.command?.join(' ');
    expect(redis).toContain('--appendonly yes');
    expect(redis).toContain('--maxmemory-policy noeviction');
  });

  it.each(ours)('names only known settings: %s', async (_, service) => {
    const env = environmentOf(service);
    const known = [...SETTINGS, ...PART_VARIABLES].map(({ variable }) => variable);
    expect(Object.keys(env).filter((name) => !known.includes(name))).toEqual([]);
    const { config } = await loadConfig({ env, folder: '/nowhere' });
    const patienceMs = Number.parseInt(service.stop_grace_period ?? '', 10) * 1_000;
    expect(patienceMs).toBeGreaterThan(config.gracePeriodMs);
  });
});

describe('docs/configuration.md', () => {
  const page = read('docs/configuration.md');

  it('lists every setting with its variable, its flag and its default', () => {
    for (const { path, variable, flag, default: value } of SETTINGS) {
      const row = page.split('\n').find((line) => line.startsWith(`| \`${path}\` |`)) ?? '';
      expect(row, path).toContain(`\`${variable}\``);
      if (flag !== undefined) expect(row, path).toContain(`\`${flag}\``);
      if (value !== undefined && value !== '') expect(row, path).toContain(`| \`${value}\` |`);
    }
    for (const { variable } of PART_VARIABLES) expect(page).toContain(`\`${variable}\``);
  });
});
