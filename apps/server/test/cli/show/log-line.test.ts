import { describe, expect, it } from 'vitest';
import { logLine } from '../../../src/cli/show/log-line.js';
import { createLog } from '../../../src/log.js';

/** What a terminal shows of what a log is told; times differ. */
function shown(tell: (log: ReturnType<typeof createLog>) => void, secrets: readonly string[] = []): string {
  let text = '';
  const write = (line: string) => {
    text += line;
    return true;
  };
  tell(createLog({ level: 'warn', secrets, destination: { write }, shown: logLine }));
  return text.replaceAll(/^\d\d:\d\d:\d\d /gm, '');
}

describe('a line of the log at a terminal', () => {
  it('begins with the time on the clock of whoever looks', () => {
    const time = '2026-11-16T05:42:10.123Z';
    const line = logLine(JSON.stringify({ level: 'warn', time, msg: 'Redis is away' }));
    expect(line).toBe(`${new Date(time).toTimeString().slice(0, 8)} warn  Redis is away\n`);
  });

  it('has the message, then the fields, each as short as it can be read', () => {
    const fields = { backend: 'Redis', withinMs: 30, word: 'a b', types: ['x'], none: null };
    expect(shown((log) => log.warn(fields, 'It is away'))).toBe(
      'warn  It is away backend=Redis withinMs=30 word="a b" types=["x"] none=null\n',
    );
    expect(shown((log) => log.error({ err: new Error('no port') }, 'Failed'))).toBe(
      'error Failed err="no port"\n',
    );
    expect(shown((log) => log.warn({ long: 'x'.repeat(1_000) }, 'Long')).length).toBe(217);
  });

  it('holds nothing that a terminal obeys, and no secret', () => {
    const text = shown(
      (log) => log.warn({ id: '\u001b[2Ja"b-secret', more: { 'a"b-secret': 1 } }, 'a"b-secret \u009b1A'),
      ['a"b-secret'],
    );
    expect(text).toBe('warn  [secret] \\u009b1A id=\\u001b[2J[secret] more={"[secret]":1}\n');
  });

  it('shows what is no JSON as it is', () => {
    expect(logLine('odd \u001b line\n')).toBe('odd \\u001b line\n');
    expect(logLine('7\n')).toBe('7\n');
  });
});
