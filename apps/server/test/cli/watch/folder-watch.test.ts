import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@millrace/testkit';
import { afterAll, afterEach, expect, it } from 'vitest';
import { FolderWatch } from '../../../src/cli/watch/folder-watch.js';

const root = mkdtempSync(join(tmpdir(), 'millrace-folders-'));
afterAll(() => rmSync(root, { recursive: true }));

const open: FolderWatch[] = [];
afterEach(() => {
  for (const watch of open.splice(0)) watch.close();
});

/** A watch of some files that follows them after every hint, as its user does. */
function follow(...files: string[]) {
  const failures: string[] = [];
  let hints = 0;
  const watch = new FolderWatch({
    hint: () => {
      hints++;
      watch.follow(files);
    },
    failed: (folder) => failures.push(folder),
  });
  watch.follow(files);
  open.push(watch);
  const hinted = async (what: string, act: () => void) => {
    const before = hints;
    act();
    await until(() => hints > before, { what: `a hint: ${what}`, deadlineMs: 15_000 });
  };
  return { hinted, failures, hints: () => hints };
}

it('hears of a file that is written, replaced and removed, and of no other in its folder', async () => {
  const folder = mkdtempSync(join(root, 'a-'));
  const app = join(folder, 'app.js');
  const log = join(folder, 'app.log');
  writeFileSync(app, '');
  const watch = follow(app);
  // It hears of the log no earlier than the first would have.
  const other = follow(log);
  await other.hinted('another file is written', () => writeFileSync(log, 'line'));
  expect(watch.hints()).toBe(0);
  await watch.hinted('written', () => writeFileSync(app, 'x'));
  for (const what of ['replaced', 'replaced again'])
    await watch.hinted(what, () => {
      writeFileSync(`${app}~`, what);
      renameSync(`${app}~`, app);
    });
  await watch.hinted('removed', () => rmSync(app));
  expect(watch.failures).toEqual([]);
});

it('waits for folders that do not exist yet, and for those that come again', async () => {
  const folder = mkdtempSync(join(root, 'b-'));
  const lib = join(folder, 'src', 'lib');
  const file = join(lib, 'x.js');
  const watch = follow(file);
  const write = () => writeFileSync(file, String(watch.hints()));
  await watch.hinted('the folder above', () => mkdirSync(join(folder, 'src')));
  await watch.hinted('its folder', () => mkdirSync(lib));
  await watch.hinted('the file', write);
  await watch.hinted('its folder is moved away', () => renameSync(lib, join(folder, 'away')));
  await watch.hinted('another comes in its place', () => mkdirSync(lib));
  await watch.hinted('the file in it', write);
  await watch.hinted('all is removed', () => rmSync(join(folder, 'src'), { recursive: true }));
  await watch.hinted('others come in their place', () => {
    mkdirSync(lib, { recursive: true });
  });
  await watch.hinted('the file in them', write);
  expect(watch.failures).toEqual([]);
});
