import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createOwnedFolder, sweepAbandonedFolders } from '../src/owned-folder.js';
import { isProcessGone, listWithPs, readProcess, workingDirectory } from '../src/processes.js';

describe('the process table', () => {
  it('is the same from /proc and from ps', () => {
    const own = readProcess(process.pid);
    expect(own).toMatchObject({ pid: process.pid, parentPid: process.ppid });
    const { parentPid, hasTerminal } = own ?? {};
    const fromPs = listWithPs().find(({ pid }) => pid === process.pid);
    expect(fromPs).toMatchObject({
      parentPid,
      hasTerminal,
      startedAt: expect.stringMatching(/^[0-9a-z]+$/),
    });
    expect([workingDirectory(process.pid), isProcessGone(process.pid)]).toEqual([process.cwd(), false]);
  });

  it('counts a zombie as gone', async () => {
    // The shell becomes a sleep, which does not collect the child.
    const shell = spawn('/bin/sh', ['-c', 'true & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [pid] = (await once(shell.stdout, 'data')) as [Buffer];
    await expect.poll(() => isProcessGone(Number(pid))).toBe(true);
    shell.kill('SIGKILL');
    await once(shell, 'exit');
  });
});

describe('an owned folder', () => {
  let parent: string;
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'sweep-test-'));
  });
  afterEach(() => rmSync(parent, { recursive: true }));

  /** A folder as another process would have left it; `change` replaces parts of our own folder's name. */
  function leftBehind(change: { pid?: string; startedAt?: string; namespace?: string }): string {
    const own = createOwnedFolder();
    const [prefix, pid, startedAt, namespace, random] = basename(own.path).split('-');
    own.remove();
    const parts = { pid, startedAt, namespace, ...change };
    const path = join(parent, [prefix, parts.pid, parts.startedAt, parts.namespace, random].join('-'));
    mkdirSync(join(path, 'data'), { recursive: true });
    writeFileSync(join(path, 'data', 'file'), 'left behind');
    return path;
  }

  it('is swept after its process ended, even if another process has that pid now', async () => {
    const child = spawn('true');
    await once(child, 'exit');
    const paths = [leftBehind({ pid: String(child.pid) }), leftBehind({ startedAt: '1' })];
    expect(sweepAbandonedFolders(parent).sort()).toEqual(paths.sort());
    expect(paths.filter(existsSync)).toEqual([]);
  });

  it('is left alone if it belongs to a live process, another container or another program', () => {
    const kept = [leftBehind({}), leftBehind({ pid: '0', namespace: 'zzz' }), join(parent, 'millrace-notes')];
    mkdirSync(kept[2] as string);
    expect([sweepAbandonedFolders(parent), kept.map(existsSync)]).toEqual([[], [true, true, true]]);
  });
});
