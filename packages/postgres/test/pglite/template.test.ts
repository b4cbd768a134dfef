import { expect, it } from 'vitest';
import { emptyDatabase, openPglite } from '../../src/pglite/open.js';

const CATALOGS = [
  'SELECT datname, encoding, datcollate, datctype, datistemplate FROM pg_database ORDER BY 1',
  'SELECT name, setting FROM pg_settings ORDER BY 1',
  "SELECT relname, relkind, relnamespace::regnamespace::text FROM pg_class WHERE relname !~ '^pg_toast' ORDER BY 1, 2, 3",
  'SELECT proname, count(*)::int FROM pg_proc GROUP BY 1 ORDER BY 1',
  'SELECT extname, extversion FROM pg_extension ORDER BY 1',
];

async function seenIn(content?: Blob): Promise<unknown[]> {
  const pglite = await openPglite(undefined, content);
  try {
    const seen = [];
    for (const sql of CATALOGS) seen.push((await pglite.query(sql)).rows);
    return seen;
  } finally {
    await pglite.close();
  }
}

it('the packed database is the one that initdb makes', async () => {
  const packed = await emptyDatabase();
  expect(packed, '`npm run build` packs it').toBeDefined();
  const [ours, theirs] = [await seenIn(packed), await seenIn()];
  expect(ours).toEqual(theirs);
  for (const rows of ours) expect(rows).not.toEqual([]);
}, 30_000);
