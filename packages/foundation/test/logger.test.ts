import { describe, expect, it } from 'vitest';
import { loggerOver } from '../src/logger.js';

const written: [string, object][] = [];
const note = (level: string) => (line: object) => void written.push([level, line]);
const sink = { debug: note('debug'), log: note('log'), warn: note('warn'), error: note('error') };

describe('loggerOver', () => {
  it('writes each level as one object with the sentence, and the fields of all its parents', () => {
    const log = loggerOver(sink).child({ part: 'mail', job: 1 }).child({ job: 2 });
    log.debug({ ms: 3 }, 'a');
    log.info({}, 'b');
    log.warn({ job: 4 }, 'c');
    log.error({}, 'd');
    expect(written).toEqual([
      ['debug', { message: 'a', part: 'mail', job: 2, ms: 3 }],
      ['log', { message: 'b', part: 'mail', job: 2 }],
      ['warn', { message: 'c', part: 'mail', job: 4 }],
      ['error', { message: 'd', part: 'mail', job: 2 }],
    ]);
  });

  it('says which lines are not written, where somebody knows, and its children say the same', () => {
    expect(loggerOver(sink).isLevelEnabled).toBeUndefined();
    const { isLevelEnabled } = loggerOver(sink, (level) => level !== 'debug').child({}) as ReturnType<
      typeof loggerOver
    >;
    expect([isLevelEnabled?.('debug'), isLevelEnabled?.('info')]).toEqual([false, true]);
  });
});
