import { describe, expect, it } from 'vitest';
import { type Column, Printer } from '../../../src/cli/show/printer.js';
import { safeJson, safeText } from '../../../src/cli/show/text.js';
import { type CapturedOptions, capturedSurroundings } from '../captured.js';

interface Row {
  readonly name: string;
  readonly count: number;
}

const COLUMNS: readonly Column<Row>[] = [
  { name: 'name', of: ({ name }) => name },
  {
    name: 'count',
    of: ({ count }) => String(count),
    isNumber: true,
    colour: (text, { count }, { red }) => (count > 10 ? red(text) : text),
  },
];

/** Clears the screen, renames the window, turns the writing around. */
const HOSTILE = '\u001b[2J\u001b]0;mine\u0007\u009b31m\u202egnp.exe\nok\tx';

const printed = (options: CapturedOptions, print: (printer: Printer) => void) => {
  const { surroundings, out, err } = capturedSurroundings(options);
  print(new Printer(surroundings));
  return { out: out(), err: err() };
};

describe('what is printed', () => {
  it('is a table of columns that are aligned, by spaces alone', () => {
    const { out } = printed({}, (printer) =>
      printer.table(
        COLUMNS,
        [
          { name: 'whale', count: 5000 },
          { name: 'a', count: 3 },
        ],
        '',
      ),
    );
    expect(out).toBe('name   count\nwhale   5000\na          3\n');
  });

  it('is a remark instead of an empty table, so that data stays empty', () => {
    expect(printed({}, (printer) => printer.table(COLUMNS, [], 'There are none.'))).toEqual({
      out: '',
      err: 'There are none.\n',
    });
  });

  it('has colours on a terminal only, and none with NO_COLOR', () => {
    const table = (options: CapturedOptions) =>
      printed(options, (printer) => printer.table(COLUMNS, [{ name: 'a', count: 11 }], '')).out;
    const red = '\u001b[31m11\u001b[39m';
    expect(table({ isTerminal: true })).toContain(red);
    expect(table({})).not.toContain('\u001b');
    expect(table({ isTerminal: true, env: { NO_COLOR: '1' } })).not.toContain('\u001b');
    expect(table({ isTerminal: true, env: { TERM: 'dumb' } })).not.toContain('\u001b');
  });

  it('holds nothing that a terminal would obey, whoever has written it', () => {
    const { out, err } = printed({}, (printer) => {
      printer.line(HOSTILE);
      printer.fields({ name: HOSTILE });
      printer.table(COLUMNS, [{ name: HOSTILE, count: 1 }], '');
      printer.remark(HOSTILE);
      printer.json({ name: HOSTILE });
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    expect(out + err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(out).toContain('\\u001b[2J');
  });

  it('is the same JSON, however it is escaped', () => {
    const value = { name: HOSTILE, list: [1, null, 'ä'] };
    expect(JSON.parse(safeJson(value))).toEqual(value);
    expect(safeJson(undefined)).toBe('null');
    expect(safeText('plain ä 語')).toBe('plain ä 語');
  });

  it('leaves out fields that there are not', () => {
    const { out } = printed({}, (printer) => printer.fields({ status: 'RUNNING', code: undefined, a: '1' }));
    expect(out).toBe('status  RUNNING\na       1\n');
  });
});
