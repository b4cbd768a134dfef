import { ReplyError } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { classifyFailure } from '../src/errors.js';

const SHA = 'a'.repeat(40);
const reply = (message: string) => new (ReplyError as new (message: string) => Error)(message);
const TRANSIENT =
  'MISCONF OOM READONLY LOADING BUSY CLUSTERDOWN TRYAGAIN MASTERDOWN NOREPLICAS UNBLOCKED'.split(' ');

describe('classifyFailure', () => {
  it.each(TRANSIENT)('classifies %s as unavailable', (code) => {
    expect(classifyFailure(reply(`${code} some text`))).toEqual({ kind: 'unavailable', code });
  });

  it.each([
    [`OOM command not allowed script: ${SHA}, on @user_script:3.`, 'unavailable', 'OOM'],
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
    expect(classifyFailure(reply(message))).toEqual({ kind, code });
  });

  it('classifies every error that is not a reply as a lost connection, with the code of the platform', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(classifyFailure(refused)).toEqual({ kind: 'connection', code: 'ECONNREFUSED' });
    expect(classifyFailure(new Error('Connection is closed.')).kind).toBe('connection');
  });
});
