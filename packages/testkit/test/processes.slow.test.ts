import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createOwnedFolder, sweepAbandonedFolders } from '../src/owned-folder.js';
import {
  freezeTree,
  isProcessGone,
  killTree,
  listWithPs,
  readProcess,
  thawTree,
  workingDirectory,
} from '../src/processes.js';

/** Starts a shell whose script prints the pid of a child, and returns both. */
async function shell(script: string): Promise<{ root: ChildProcess; pids: [number, number] }> {
  const root = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [chunk] = (await once(root.stdout, 'data')) as [Buffer];
  return { root, pids: [root.pid as number, Number(chunk.toString())] };
}

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
    const { root, pids } = await shell('true & echo $!; exec sleep 60');
    await expect.poll(() => isProcessGone(pids[1])).toBe(true);
    root.kill('SIGKILL');
    await once(root, 'exit');
  });

  it('freezes, thaws and kills a tree, including members in other sessions', async () => {
    const { pids } = await shell('setsid sleep 60 & echo $!; wait');
    const states = () => pids.map((pid) => readProcess(pid)?.state);
    freezeTree(pids[0]);
    expect(states()).toEqual(['T', 'T']);
    thawTree(pids[0]);
    await expect.poll(states).toEqual(['S', 'S']);
    killTree(pids[0]);
    expect(pids.map(isProcessGone)).toEqual([true, true]);
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

  it('adds process hooks only while it exists, and may be removed twice', () => {
    const hooks = () => ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'].map((event) => process.listenerCount(event));
    const before = hooks();
    const folders = [createOwnedFolder(), createOwnedFolder()];
    expect(hooks()).toEqual(before.map((count) => count + 1));
    for (const folder of [...folders, ...folders]) folder.remove();
    expect([hooks(), folders.filter(({ path }) => existsSync(path))]).toEqual([before, []]);
  });

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

  it('is swept together with the frozen process that works in it', async () => {
    const path = leftBehind({ startedAt: '1' });
    const straggler = spawn('sleep', ['60'], { cwd: join(path, 'data'), detached: true, stdio: 'ignore' });
    await once(straggler, 'spawn');
    straggler.kill('SIGSTOP');
    sweepAbandonedFolders(parent);
    expect(isProcessGone(straggler.pid as number)).toBe(true);
  });
});
