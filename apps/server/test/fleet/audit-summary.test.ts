import { describe, expect, it } from 'vitest';
import { keptText, SUMMARY_BYTES_MAX, summaryOf } from '../../src/fleet/audit-summary.js';
import { secretHider } from '../../src/log.js';

const SECRET = 'planted-secret-of-24-characters';
/** As JSON writes it, it is another text. */
const QUOTED = 'a "quoted" secret of 24 chars';
const hide = secretHider([SECRET, QUOTED]);

describe('the summary of a body', () => {
  it('is the body, where it is short', () => {
    expect(summaryOf({ weight: 2, paused: true }, hide)).toBe('{"weight":2,"paused":true}');
    expect(summaryOf(undefined, hide)).toBeNull();
  });

  it('has no secrets: not by the name of their field, not where somebody put one', () => {
    const body = {
      smtp: { password: 'hunter2', user: 'ana', dbPwd: 'hunter3' },
      headers: [{ Authorization: 'Bearer x' }, { apiKey: ['a', 'b'] }],
      note: `my key is ${SECRET}, really`,
      [SECRET]: 1,
      [QUOTED]: 2,
      long: 'x'.repeat(490) + SECRET,
    };
    const text = summaryOf(body, hide) ?? '';
    for (const hidden of ['hunter2', 'hunter3', 'Bearer x', '"a"', SECRET, SECRET.slice(0, 10), 'quoted'])
      expect(text).not.toContain(hidden);
    expect(text).toContain('"user":"ana"');
    expect(text).toContain('my key is [secret], really');
  });

  it('never has more than 4 KB, whatever is sent', () => {
    for (const body of [
      'é'.repeat(1_000_000),
      Array.from({ length: 100_000 }, (_, index) => index),
      { [`😀`.repeat(10_000)]: 1 },
      Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field${index}`, '😀'.repeat(300)])),
    ]) {
      const text = summaryOf(body, hide) ?? '';
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(SUMMARY_BYTES_MAX);
      expect(text.endsWith('…') || text.length < 600).toBe(true);
      expect(text).not.toMatch(/\p{Surrogate}|\u{FFFD}/u);
    }
  });

  it('keeps of a parameter what PostgreSQL can keep', () => {
    expect(keptText(`a\0b\ud800c ${SECRET}`, hide)).toBe('a\u{FFFD}b\u{FFFD}c [secret]');
    expect(keptText('x'.repeat(2_000), hide)).toHaveLength(501);
  });
});
