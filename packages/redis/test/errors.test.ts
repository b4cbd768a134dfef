import { ReplyError } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { classifyFailure } from '../src/errors.js';

const SHA = 'a'.repeat(40);

describe('classifyFailure', () => {
  it.each([
    ['MISCONF Redis is configured to save RDB snapshots', 'unavailable', 'MISCONF'],
    ["OOM command not allowed when used memory > 'maxmemory'.", 'unavailable', 'OOM'],
    [`OOM command not allowed script: ${SHA}, on @user_script:3.`, 'unavailable', 'OOM'],
    ["READONLY You can't write against a read only replica.", 'unavailable', 'READONLY'],
    ['LOADING Redis is loading the dataset in memory', 'unavailable', 'LOADING'],
    ['BUSY Redis is busy running a script.', 'unavailable', 'BUSY'],
    ['CLUSTERDOWN The cluster is down', 'unavailable', 'CLUSTERDOWN'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'unavailable', 'TRYAGAIN'],
    ['MASTERDOWN Link with MASTER is down', 'unavailable', 'MASTERDOWN'],
    ['NOREPLICAS Not enough good replicas to write.', 'unavailable', 'NOREPLICAS'],
    ['ERR max number of clients reached', 'unavailable', 'ERR'],
    ['NOSCRIPT No matching script.', 'no-script', 'NOSCRIPT'],
    [`ERR user_script:1: attempt to index a nil value script: ${SHA}, on @user_script:1.`, 'script', 'ERR'],
    [`WRONGTYPE Operation against a key script: ${SHA}, on @user_script:1.`, 'script', 'WRONGTYPE'],
    ['ERR Error compiling script (new function)', 'script', 'ERR'],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'refused', 'WRONGTYPE'],
    ["ERR unknown command 'NOPE'", 'refused', 'ERR'],
    ['NOPERM this user has no permissions', 'refused', 'NOPERM'],
    ['something without a word in capitals', 'refused', 'ERR'],
  ])('%s', (message, kind, code) => {
    expect(classifyFailure(new (ReplyError as new (message: string) => Error)(message))).toEqual({
      kind,
      code,
    });
  });

  it('classifies every error that is not a reply as a lost connection, with the code of the platform', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(classifyFailure(refused)).toEqual({ kind: 'connection', code: 'ECONNREFUSED' });
    expect(classifyFailure(new Error('Connection is closed.')).kind).toBe('connection');
  });
});
