import { systemClock } from '@millrace/foundation';
import { Command } from 'commander';
import { awaitBackends } from '../../compose/await-backends.js';
import { migrateServer } from '../../compose/migrate.js';
import { databaseOf } from '../../compose/open-database.js';
import { loadConfig } from '../../config/load-config.js';
import { secretsOf } from '../../config/secrets.js';
import { ERRORS } from '../../errors.js';
import { createLog, partLog } from '../../log.js';
import type { Surroundings } from '../surroundings.js';

/** `millrace migrate`: brings the tables in DATABASE_URL up to date. */
export function migrateCommand({ env, folder, stdout, stderr }: Surroundings): Command {
  return new Command('migrate')
    .description('Bring the tables in DATABASE_URL up to date; any number of processes may do so at once.')
    .option('--config <file>', 'The file of settings, instead of millrace.config.js or .json here.')
    .option('--json', 'Print the data as JSON.')
    .action(async ({ json, ...flags }: Record<string, string>) => {
      const { config } = await loadConfig({ flags, env, folder });
      if (config.databaseUrl === undefined)
        throw ERRORS.create('CONFIG_INVALID', {
          problems:
            'migrate needs DATABASE_URL; the tables of an embedded database are migrated when it starts',
        });
      const secrets = secretsOf(config, env);
      const log = partLog(createLog({ level: 'warn', secrets, destination: stderr }));
      await using database = databaseOf(config, log);
      const { databaseUrl, startWaitMs } = config;
      await awaitBackends({ config: { databaseUrl, startWaitMs }, database, clock: systemClock, log });
      const applied = await migrateServer(database, config);
      if (json) return void stdout.write(`${JSON.stringify({ applied }, undefined, 2)}\n`);
      for (const name of applied) stdout.write(`applied ${name}\n`);
      if (applied.length === 0) stdout.write(`Schema ${config.schema} is up to date.\n`);
    });
}
