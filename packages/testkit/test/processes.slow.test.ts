import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createOwnedFolder, sweepAbandonedFolders } from '../src/owned-folder.js';
import { isProcessGone, killTree, listWithPs, readProcess } from '../src/processes.js';

it('reads the same process table from /proc and from ps', () => {
  const own = readProcess(process.pid);
  expect(own).toMatchObject({ pid: process.pid, parentPid: process.ppid });
  const fromPs = listWithPs().find(({ pid }) => pid === process.pid);
  expect(fromPs).toMatchObject({
    parentPid: process.ppid,
    hasTerminal: own?.hasTerminal,
    startedAt: expect.stringMatching(/^[0-9a-z]+$/),
  });
});

it('kills without a turn of the event loop, and counts a zombie as gone', async () => {
  const child = spawn('sleep', ['60']);
  const pid = child.pid as number;
  killTree(pid);
  // Node has not collected it yet.
  expect([readProcess(pid)?.state, isProcessGone(pid)]).toEqual(['Z', true]);
  await once(child, 'exit');
});

it('sweeps folders whose process has ended, but none of a live process, another container or another program', () => {
  const parent = createOwnedFolder();
  onTestFinished(parent.remove);
  const [, pid, startedAt, namespace] = basename(parent.path).split('-');
  const folder = (...name: unknown[]) => {
    const path = join(parent.path, ['millrace', ...name].join('-'));
    mkdirSync(join(path, 'data'), { recursive: true });
    return path;
  };
  const kept = [
    folder(pid, startedAt, namespace, 'abcdef'),
    folder('0', startedAt, 'zzz', 'abcdef'),
    folder('notes'),
  ];
  // The pid of the second one's owner belongs to another process now.
  const abandoned = [
    folder(spawnSync('true').pid, startedAt, namespace, 'abcdef'),
    folder(pid, '1', namespace, 'abcdef'),
  ];
  expect(sweepAbandonedFolders(parent.path).sort()).toEqual(abandoned.sort());
  expect([kept.map(existsSync), abandoned.filter(existsSync)]).toEqual([[true, true, true], []]);
});
