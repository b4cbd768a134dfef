import { describe, expect, it } from 'vitest';
import { JSON_SHOWN_MAX, shownText, writtenJson } from '../../src/rules/written-json.js';

describe('values from outside', () => {
  it('are indented JSON', () => {
    expect(writtenJson({ a: [1, 'x'] }).text).toBe('{\n  "a": [\n    1,\n    "x"\n  ]\n}');
    expect(writtenJson(undefined).text).toBe('undefined');
    expect(writtenJson(null).text).toBe('null');
  });

  it('are cut where they are long, unless all of it is wanted', () => {
    const long = 'x'.repeat(JSON_SHOWN_MAX);
    const cut = writtenJson(long);
    expect(cut).toMatchObject({ isCut: true, length: JSON_SHOWN_MAX + 2 });
    expect(cut.text).toHaveLength(JSON_SHOWN_MAX + 1);
    expect(writtenJson(long, Number.POSITIVE_INFINITY)).toMatchObject({ isCut: false, text: `"${long}"` });
  });

  it('hide nothing: what is not seen or turns the direction is written out, lines stay lines', () => {
    expect(shownText('a\u202eb\u200bc\u0007d\u2028e\ufeff')).toBe('a\\u202eb\\u200bc\\u0007d\\u2028e\\ufeff');
    expect(shownText('two\nlines\tand 한국어 👍')).toBe('two\nlines\tand 한국어 👍');
    expect(shownText('<img src=x onerror=alert(1)>')).toBe('<img src=x onerror=alert(1)>');
  });
});
