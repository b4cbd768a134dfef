import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { StatementFiles } from '../src/index.js';
import { folderPerTest } from './support.js';

const folder = folderPerTest();

function statementsOf(files: Record<string, string>, schema = 'shop'): StatementFiles {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder(), name), text);
  return new StatementFiles({ part: 'test', folder: pathToFileURL(`${folder()}/`), schema });
}

const TASKS = `-- The statements of tasks.

-- name: claim_ready
-- Locks in id order.
SELECT id -- the key
FROM {schema}.task;
-- name: forget_worker
DELETE FROM {schema}.worker
`;

it('reads the statements of a file by their headings, or its only statement, and no migrations', () => {
  const others = {
    '0001-first.sql': TASKS,
    'notes.md': 'x',
    'find-order.sql': '-- One order.\nSELECT 1\n',
  };
  const statements = statementsOf({ 'tasks.sql': TASKS, ...others });
  expect(statements.get('find-order').sql).toBe('/* test find-order */ SELECT 1');
  expect(statements.get('claim_ready').sql).toBe(
    '/* test claim_ready */ SELECT id -- the key\nFROM "shop".task;',
  );
  expect(statements.get('forget_worker').sql).toBe('/* test forget_worker */ DELETE FROM "shop".worker');
});

it('puts any schema name in, and gives statements of two schemas two names', () => {
  const files = { 'tasks.sql': TASKS.replaceAll('\n', '\r\n') };
  const odd = statementsOf(files, 'odd "$& name').get('forget_worker');
  expect(odd.sql).toBe('/* test forget_worker */ DELETE FROM "odd ""$& name".worker');
  expect(odd.name).toMatch(/^forget_worker-[0-9a-f]{8}$/);
  expect(statementsOf(files).get('forget_worker').name).not.toBe(odd.name);
});

it.each([
  ['two statements of one name', { 'a.sql': TASKS, 'b.sql': TASKS }, /claim_ready .* two of this name/],
  ['a heading without SQL', { 'a.sql': '-- name: one\n-- two\n' }, /one .* no SQL/],
  ['a heading without a usable name', { 'a.sql': '-- name: one two\nSELECT 1' }, /like claim_ready/],
  ['SQL above the first heading', { 'a.sql': `SELECT 1;\n${TASKS}` }, /above the first heading/],
  ['a name that no statement has', { 'a.sql': TASKS }, /nothing .* does not exist/],
])('rejects %s', (_, files, message) => {
  expect(() => statementsOf(files).get('nothing')).toThrow(message);
});
