import { silentLogger } from '@millrace/foundation';
import { PgDatabase } from '@millrace/postgres';
import { it } from 'vitest';
import { ServerTables } from '../../src/fleet/server-tables.js';
import { StatStore } from '../../src/fleet/stat-store.js';
import { migratedSandbox } from '../serve.js';

it('perf', async () => {
  const sandbox = await migratedSandbox();
  const database = new PgDatabase({ url: sandbox.url, logger: silentLogger });
  const store = new StatStore(new ServerTables({ database, config: { schema: 'millrace' } as never }));
  await database.query(
    `INSERT INTO millrace.server_stat SELECT 60, 'i' || i, s, s, (SELECT jsonb_object_agg('wait:' || k, k * 7) FROM generate_series(1, 60) k), (SELECT jsonb_object_agg('queues.' || k, k * 7) FROM generate_series(1, 14) k) FROM generate_series(1, 10) i, generate_series(0, 1439) s`,
    [],
    { timeoutMs: 60_000 },
  );
  await database.query('ANALYZE millrace.server_stat');
  for (let n = 0; n < 3; n++) {
    const t = performance.now();
    const r = await store.read(60, 0, 1439).catch(String);
    console.log('sql', r.length, performance.now() - t);
  }
  for (let n = 0; n < 3; n++) {
    const t = performance.now();
    const { rows } = await database.query(
      'SELECT slot, counted, seen FROM millrace.server_stat WHERE step = 60 AND slot BETWEEN 0 AND 1439',
      [],
      { timeoutMs: 20_000 },
    );
    console.log('raw', rows.length, performance.now() - t);
  }
  await database.stop();
  await sandbox.drop();
}, 120_000);
