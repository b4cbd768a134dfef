import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { isProcessGone, PS_ARGUMENTS, parsePs, readProcess, workingDirectory } from '../src/process-table.js';
import { freezeTree, killTree, thawTree } from '../src/process-tree.js';

describe('the process table', () => {
  it('knows this process', () => {
    expect(readProcess(process.pid)).toMatchObject({ pid: process.pid, parentPid: process.ppid });
    expect(workingDirectory(process.pid)).toBe(process.cwd());
    expect(isProcessGone(process.pid)).toBe(false);
  });

  it('reads from ps what it reads from /proc', () => {
    const output = execFileSync('ps', PS_ARGUMENTS, { encoding: 'utf8', env: { LC_ALL: 'C' } });
    const entry = parsePs(output).find(({ pid }) => pid === process.pid);
    const { parentPid, hasTerminal } = readProcess(process.pid) ?? {};
    expect(entry).toMatchObject({ parentPid, hasTerminal, startedAt: expect.stringMatching(/^[0-9a-z]+$/) });
  });

  it('takes a zombie for gone', async () => {
    // The shell's child ends and is not collected: the shell has become a sleep that waits for nobody.
    const parent = spawn('/bin/sh', ['-c', 'true & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [chunk] = (await once(parent.stdout, 'data')) as [Buffer];
    const zombie = Number(chunk.toString());
    await expect.poll(() => isProcessGone(zombie)).toBe(true);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
  });
});

describe('a tree of processes', () => {
  it('stops, runs on and dies as one, whatever session its members are in', async () => {
    const script = 'setsid sleep 60 & echo $!; wait';
    const root = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [chunk] = (await once(root.stdout, 'data')) as [Buffer];
    const pids = [root.pid as number, Number(chunk.toString())];
    const states = () => pids.map((pid) => readProcess(pid)?.state);

    freezeTree(pids[0] as number);
    expect(states()).toEqual(['T', 'T']);
    thawTree(pids[0] as number);
    await expect.poll(states).toEqual(['S', 'S']);
    killTree(pids[0] as number);
    expect(pids.map(isProcessGone)).toEqual([true, true]);
  });
});
