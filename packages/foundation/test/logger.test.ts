import { expect, it } from 'vitest';
import { loggerOver } from '../src/index.js';

it('loggerOver writes each level as one object with the message and the fields of all its parents', () => {
  const written: [string, object][] = [];
  const note = (level: string) => (line: object) => void written.push([level, line]);
  const sink = { debug: note('debug'), log: note('log'), warn: note('warn'), error: note('error') };
  expect(loggerOver(sink).isLevelEnabled).toBeUndefined();
  const log = loggerOver(sink, (level) => level !== 'debug');
  expect([log.isLevelEnabled?.('debug'), log.isLevelEnabled?.('info')]).toEqual([false, true]);
  const child = log.child({ part: 'mail', job: 1 }).child({ job: 2 });
  expect(child).toHaveProperty('isLevelEnabled', log.isLevelEnabled);
  child.debug({ ms: 3 }, 'a');
  child.info({}, 'b');
  child.warn({ job: 4 }, 'c');
  child.error({}, 'd');
  expect(written).toEqual([
    ['debug', { message: 'a', part: 'mail', job: 2, ms: 3 }],
    ['log', { message: 'b', part: 'mail', job: 2 }],
    ['warn', { message: 'c', part: 'mail', job: 4 }],
    ['error', { message: 'd', part: 'mail', job: 2 }],
  ]);
});
