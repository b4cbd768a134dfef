import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createOwnedFolder, sweepAbandonedFolders } from '../src/owned-folder.js';
import { isProcessGone } from '../src/process-table.js';

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

describe('an owned folder', () => {
  it('goes when removed, also twice', () => {
    const folder = createOwnedFolder();
    expect(existsSync(folder.path)).toBe(true);
    folder.remove();
    folder.remove();
    expect(existsSync(folder.path)).toBe(false);
  });

  it('adds process hooks only while it is there', () => {
    const hooks = () => ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'].map((event) => process.listenerCount(event));
    const before = hooks();
    const folders = [createOwnedFolder(), createOwnedFolder()];
    expect(hooks()).toEqual(before.map((count) => count + 1));
    for (const folder of folders) folder.remove();
    expect(hooks()).toEqual(before);
  });
});

describe('sweepAbandonedFolders', () => {
  it('removes what a dead process left', async () => {
    const child = spawn('true');
    await once(child, 'exit');
    const path = leftBehind({ pid: String(child.pid) });
    expect(sweepAbandonedFolders(parent)).toEqual([path]);
    expect(existsSync(path)).toBe(false);
  });

  it('is not fooled by a pid that another process has now', () => {
    const path = leftBehind({ startedAt: '1' });
    expect(sweepAbandonedFolders(parent)).toEqual([path]);
  });

  it('leaves alone what belongs to a live process, to another container, or to somebody else', () => {
    const kept = [leftBehind({}), leftBehind({ pid: '0', namespace: 'zzz' }), join(parent, 'millrace-notes')];
    mkdirSync(kept[2] as string);
    expect(sweepAbandonedFolders(parent)).toEqual([]);
    expect(kept.map(existsSync)).toEqual([true, true, true]);
  });

  it('ends what still runs in it, even when frozen', async () => {
    const path = leftBehind({ startedAt: '1' });
    const straggler = spawn('sleep', ['60'], { cwd: join(path, 'data'), detached: true, stdio: 'ignore' });
    await once(straggler, 'spawn');
    straggler.kill('SIGSTOP');
    sweepAbandonedFolders(parent);
    expect(isProcessGone(straggler.pid as number)).toBe(true);
  });
});
