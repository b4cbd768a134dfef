import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutText, signatureOf } from '../../src/rules/signature.js';

const of = (message: string) => signatureOf('T', 'C', message);
const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;

describe('bulk-action BA-8: signatures of dead letters', () => {
  it('bulk-action BA-8: it is type, code and masked message', () => {
    expect(signatureOf('SEND_EMAIL', 'SMTP_ERROR', 'mailbox full')).toBe(
      'SEND_EMAIL SMTP_ERROR mailbox full',
    );
    expect(signatureOf('SEND_EMAIL', 'SMTP_ERROR', '')).toBe('SEND_EMAIL SMTP_ERROR');
  });

  it.each([
    ['timed out after 500 ms', 'timed out after # ms'],
    ['took 12.5s, limit 1,000', 'took #, limit #'],
    ['balance -17.30 is too low', 'balance # is too low'],
    ['connect ECONNREFUSED 127.0.0.1:6379', 'connect ECONNREFUSED #'],
    ['connect to [2001:db8::1]:80 failed', 'connect to [#]:# failed'],
    ['no user 7b9f1c2e-8d4a-4a57-9d0b-0123456789ab', 'no user #'],
    ['no user deadbeefcafe', 'no user #'],
    ['bad token 0xDEADBEEF', 'bad token #'],
    ['order A-1734/b is gone', 'order #/b is gone'],
    ['jobs 1, 2, 3 and 4 failed', 'jobs # and # failed'],
    ["cannot open 'report 7.pdf'", "cannot open '#'"],
    ['cannot open "it\'s \\"mine\\".pdf" now', 'cannot open "#" now'],
    ['cannot open `x y` now', 'cannot open `#` now'],
    ["the user can't do that, it's not allowed", "the user can't do that, it's not allowed"],
    ["don't open 'Ann's file' now", "don't open '#' now"],
    ["unknown keys 'a','b'", "unknown keys '#','#'"],
    ['GET https://api.example.com/users/ann?key=x failed', 'GET https://api.example.com/# failed'],
    ['GET http://me:secret@shard-12.example.com:8080 failed', 'GET http://#.example.com:# failed'],
    ['GET HTTPS://example.com/ failed', 'GET https://example.com/# failed'],
    ['redis://10.0.0.7:6379/3 is down', 'redis://#/# is down'],
    ['no mailbox ann.lee+news@example.com here', 'no mailbox #@example.com here'],
    ['no mailbox ann@mail2.example.com', 'no mailbox #@#.example.com'],
    ['Größe der Datei Übung überschritten', 'Größe der Datei Übung überschritten'],
    ['first line\n\tsecond\u0000 line ', 'first line second line'],
    ['snake_case and kebab-case stay', 'snake_case and kebab-case stay'],
    ['snake_case_9 and kebab-7-case go', '# and # go'],
  ])('bulk-action BA-8: %j is %j', (message, expected) => {
    expect(of(message)).toBe(`T C ${expected}`);
  });

  it('bulk-action BA-8: 2,000 failures of three causes have three signatures', () => {
    const causes = [
      (n: number) => `mailbox user${n}@example.com is full`,
      (n: number) => `timed out after ${n} ms calling https://api.example.com/v${n}/send?to=${n}`,
      (n: number) => `template 'invoice for customer ${'abc'.repeat(n % 7)} ${n}' has no field "x${n}"`,
    ];
    const signatures = Array.from({ length: 2000 }, (_, n) =>
      of((causes[n % 3] as (n: number) => string)(n)),
    );
    expect(new Set(signatures).size).toBe(3);
  });

  it('bulk-action BA-8: other numbers, ids and quotes give the same signature', () => {
    const inQuotes = fc.string({ maxLength: 300 }).map((text) => text.replace(/["\\]/g, ''));
    const facts = fc.record({ number: fc.nat(), uuid: fc.uuid(), quote: inQuotes });
    const text = ({ number, uuid, quote }: { number: number; uuid: string; quote: string }) =>
      of(`could not move ${number} of ${uuid} to "${quote}", giving up`);
    fc.assert(
      fc.property(facts, facts, (one, other) => {
        expect(text(one)).toBe(text(other));
      }),
    );
  });

  it('bulk-action BA-8: a quote that is longer than what is read is masked too', () => {
    for (const quote of ['"', "'", '`']) {
      const long = (word: string) => of(`refused: ${quote}${`${word} `.repeat(5000)}${quote} at the end`);
      expect(long('abc')).toBe(`T C refused: ${quote}#${quote}`);
      expect(long('xyz')).toBe(long('abc'));
    }
  });

  it('bulk-action BA-8: any input gives one line of at most 200 characters that UTF-8 can carry, and type and code have room', () => {
    const any = fc.string({ unit: 'binary', maxLength: 600 });
    fc.assert(
      fc.property(any, any, any, (type, code, message) => {
        const signature = signatureOf(type, code, message);
        expect(signature.length).toBeLessThanOrEqual(200);
        expect(signature).not.toMatch(/\p{Cc}/u);
        expect(Buffer.from(signature, 'utf8').toString('utf8')).toBe(signature);
      }),
    );
    const long = signatureOf('T'.repeat(500), 'C'.repeat(500), 'the message');
    expect(long).toMatch(/^T{80} C{50} the message$/);
  });

  it('bulk-action BA-8: half a character is left out at the cut and replaced elsewhere', () => {
    expect(cutText('ab😀', 3)).toBe('ab');
    expect(cutText('ab😀', 4)).toBe('ab😀');
    expect(cutText('a\uD83Db', 9)).toBe('a\uFFFDb');
  });

  it.each([
    ['digits', '1'.repeat(100_000)],
    ['open double quotes', '"\\'.repeat(50_000)],
    ['open single quotes', " 'a".repeat(33_334)],
    ['back quotes', '`'.repeat(99_999)],
    ['dots and letters', 'a.'.repeat(50_000)],
    ['almost an e-mail', `${'a'.repeat(50_000)}@${'a.'.repeat(25_000)}`],
    ['at signs', '@a'.repeat(50_000)],
    ['almost URLs', 'a://'.repeat(25_000)],
    ['hyphens', '-'.repeat(100_000)],
    ['masked runs', '1, '.repeat(33_334)],
    ['spaces', ' '.repeat(100_000)],
    ['half characters', '\uD83D'.repeat(100_000)],
  ])('bulk-action BA-8: a hostile message of %s costs no more than a long one', (_what, message) => {
    of(message);
    const startedAt = monotonicMs();
    for (let time = 0; time < 5; time++) of(message);
    // Really about 1 ms each; catastrophic backtracking would take minutes.
    expect(monotonicMs() - startedAt).toBeLessThan(500);
    expect(of(message).length).toBeLessThanOrEqual(200);
  });

  it('bulk-action BA-8: a hostile type or code is cut before it is looked at', () => {
    expect(signatureOf(' '.repeat(100_000), '\n'.repeat(100_000), 'x').length).toBeLessThanOrEqual(200);
  });
});
