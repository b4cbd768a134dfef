import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findServerBinaries, serverBinaryFolders } from '../server-binaries.mjs';
import { findBinary } from '../src/find-binary.js';

const root = mkdtempSync(join(tmpdir(), 'find-binary-test-'));
afterAll(() => rmSync(root, { recursive: true }));

function folderWith(name: string, ...programs: string[]): string {
  const folder = join(root, name);
  mkdirSync(folder);
  for (const program of programs) {
    writeFileSync(join(folder, program), '#!/bin/sh\n');
    chmodSync(join(folder, program), 0o755);
  }
  return folder;
}

describe('findServerBinaries', () => {
  it('finds the servers of this machine', () => {
    const { redisServer, postgres, initdb, chromium, missing } = findServerBinaries();
    expect(missing).toEqual([]);
    expect([redisServer, postgres, initdb].map((path) => basename(path ?? ''))).toEqual([
      'redis-server',
      'postgres',
      'initdb',
    ]);
    expect(basename(chromium ?? '')).toMatch(/^(chromium(-headless-shell|-browser)?|google-chrome)$/);
  });

  it('takes postgres and initdb from one folder', () => {
    const half = folderWith('half', 'postgres');
    const whole = folderWith('whole', 'postgres', 'initdb');
    const { postgres, initdb } = findServerBinaries([half, whole]);
    expect([postgres, initdb].map((path) => dirname(path ?? ''))).toEqual([whole, whole]);
  });

  it.each(['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'])(
    'takes %s for the browser',
    (name) => {
      const folder = folderWith(`browser-${name}`, name);
      expect(findServerBinaries([folder]).chromium).toBe(join(folder, name));
    },
  );

  it('passes over a file that cannot be run', () => {
    const folder = folderWith('plain', 'redis-server');
    chmodSync(join(folder, 'redis-server'), 0o644);
    expect(findServerBinaries([folder]).redisServer).toBeUndefined();
  });

  it('lists what is missing with its package', () => {
    expect(findServerBinaries([]).missing).toEqual([
      { name: 'redis-server', debianPackage: 'redis-server' },
      { name: 'postgres', debianPackage: 'postgresql' },
      { name: 'initdb', debianPackage: 'postgresql' },
      { name: 'curl', debianPackage: 'curl' },
      { name: 'chromium', debianPackage: 'chromium-headless-shell' },
    ]);
  });

  it('looks on PATH before the usual places', () => {
    const first = process.env.PATH?.split(':')[0];
    expect(serverBinaryFolders()[0]).toBe(first);
    expect(serverBinaryFolders()).toContain('/opt/homebrew/bin');
  });
});

describe('findBinary', () => {
  it('gives the path', () => {
    expect(basename(findBinary('redis-server'))).toBe('redis-server');
  });

  it.each([
    ['redis-server', 'apt-get install redis-server'],
    ['postgres', 'apt-get install postgresql'],
    ['initdb', 'apt-get install postgresql'],
    ['chromium', 'apt-get install chromium-headless-shell'],
  ] as const)('says how to install a missing %s', (name, command) => {
    expect(() => findBinary(name, findServerBinaries([]))).toThrow(command);
  });
});
