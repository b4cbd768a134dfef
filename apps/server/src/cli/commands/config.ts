import { Command } from 'commander';
import { loadConfig } from '../../config/load-config.js';
import { shownSettings } from '../../config/show-config.js';
import type { Surroundings } from '../surroundings.js';

/**
 * `millrace config`: the settings that `millrace start` would have here, and where each comes from; secrets are not shown.
 */
export function configCommand({ env, folder, stdout }: Surroundings): Command {
  return new Command('config')
    .description('Print the settings that a server would start with, and where each comes from.')
    .option('--config <file>', 'The file of settings, instead of millrace.config.js or .json here.')
    .option('--json', 'As JSON.')
    .action(async ({ json, ...flags }: Record<string, string>) => {
      const settings = shownSettings(await loadConfig({ flags, env, folder }), env);
      if (json) return void stdout.write(`${JSON.stringify(settings, undefined, 2)}\n`);
      const rows = settings.map(({ setting, value, source }) => [setting, shown(value), `(${source})`]);
      const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
      const widths = [width(0), Math.min(width(1), VALUE_WIDTH_MAX)];
      for (const [setting = '', value = '', source] of rows)
        stdout.write(`${setting.padEnd(widths[0] ?? 0)}  ${value.padEnd(widths[1] ?? 0)}  ${source}\n`);
    });
}

const VALUE_WIDTH_MAX = 48;

const shown = (value: unknown): string =>
  value === null || value === '' ? '-' : typeof value === 'string' ? value : JSON.stringify(value);
