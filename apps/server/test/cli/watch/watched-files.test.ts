import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ABSENT, fingerprintOf, isEdited, readReport } from '../../../src/cli/watch/report.js';
import { FILES_MAX, WatchedFiles } from '../../../src/cli/watch/watched-files.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-watched-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('a change is other content, not another time; each is found once', () => {
  const file = join(folder, 'app.js');
  const missing = join(folder, 'none.js');
  writeFileSync(file, 'one');
  const watched = new WatchedFiles();
  watched.loads(file, fingerprintOf(file));
  watched.loads(missing, fingerprintOf(missing));
  utimesSync(file, 1, 1);
  expect(watched.changed(fingerprintOf)).toEqual([]);
  writeFileSync(file, 'two');
  expect(watched.changed(fingerprintOf)).toEqual([file]);
  expect(watched.changed(fingerprintOf)).toEqual([]);
  rmSync(file);
  writeFileSync(missing, '');
  expect(watched.changed(fingerprintOf)).toEqual([file, missing]);
  expect(fingerprintOf(file)).toBe(ABSENT);
});

it('what counts is what the server has loaded, not what was there when it said so', () => {
  const watched = new WatchedFiles();
  watched.loads('app.js', 'loaded');
  expect(watched.changed(() => 'written since')).toEqual(['app.js']);
  // Another server starts, and loads what was written in the meantime.
  watched.begin();
  watched.loads('app.js', 'written last');
  expect(watched.changed(() => 'written last')).toEqual([]);
});

it('the files of the last server matter until the next one serves', () => {
  const watched = new WatchedFiles();
  watched.begin();
  for (const file of ['app.js', 'old.js']) watched.loads(file, '');
  watched.serves();
  watched.begin();
  watched.loads('app.js', '');
  watched.loads('new.js', '');
  expect(watched.files).toEqual(['app.js', 'old.js', 'new.js']);
  watched.serves();
  watched.loads('late.js', '');
  expect(watched.files).toEqual(['app.js', 'new.js', 'late.js']);
});

it('there is a limit', () => {
  const watched = new WatchedFiles();
  for (let n = 0; n < FILES_MAX; n++) expect(watched.loads(`${n}.js`, '')).toBe(true);
  expect(watched.loads('more.js', '')).toBe(false);
  expect(watched.loads('0.js', 'again')).toBe(true);
});

it('only reports are heard on a channel that the application shares', () => {
  const loads = { told: 'loads', file: '/app.js', fingerprint: 'x' };
  expect(readReport({ ...loads, more: 1 })).toEqual(loads);
  expect(readReport({ told: 'serves', losesJobs: true })).toEqual({ told: 'serves', losesJobs: true });
  for (const other of [undefined, null, 'loads', 1, {}, { told: 'loads', file: 1 }, { told: 'serves' }])
    expect(readReport(other)).toBeUndefined();
});

it('what is installed is not edited', () => {
  expect(isEdited('/home/me/app/node_modules/lodash/index.js')).toBe(false);
  expect(isEdited('/home/me/not_node_modules/index.js')).toBe(true);
});
