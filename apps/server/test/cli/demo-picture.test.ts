import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import pico from 'picocolors';
import { describe, expect, it } from 'vitest';
import { LiveScreen } from '../../src/cli/demo/live-screen.js';
import { wrapped } from '../../src/cli/demo/paper.js';
import { pictureOf } from '../../src/cli/demo/picture.js';
import { ShareLedger } from '../../src/cli/demo/share-ledger.js';
import { summaryOf } from '../../src/cli/demo/summary.js';
import { takeaways } from '../../src/cli/demo/takeaways.js';
import { FACTS, tenant } from './demo-facts.js';

const drawn = (facts = FACTS, columns = 80, rows = 24, hasColours = false) =>
  pictureOf(facts, { columns, rows, colours: pico.createColors(hasColours) });
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out.
const plain = (line: string) => line.replaceAll(/\u001b\[\d+m/g, '');
const widest = (lines: readonly string[]) => Math.max(...lines.map((line) => [...plain(line)].length));

describe('the picture of a demo', () => {
  it('fits 80 columns', () => {
    expect(`\n${drawn().join('\n')}\n`).toMatchInlineSnapshot(`
      "
       Millrace demo   http://127.0.0.1:3000/                              17 of 45 s

       tenant   jobs                   done  per s        left  share       now  fair
       whale    ███░░░░░░░░░ 1,250 of 5,000     62  1 min 27 s  ██┃█░░░░░  46 %  25 %
       shop-01  ██████░░░░░░       20 of 40     12       1.6 s  ██┃░░░░░░  18 %  25 %
       shop-02  ████████████       40 of 40
       caller   ██████░░░░░░     110 of 200     12       4.4 s  ██┃░░░░░░  18 %  25 %
       unlucky  ████████████         9 of 9

       service      demo-service: refused 41, learnt limit 20/s, now 18.2/s, MODERATE
       DAG          load ✔ → eur ✔ gbp ✖ usd … → join · → report –  2 done, 1 failed
       operations   12 done, 1 running, half of them within 14 ms
       chat         What came of order 2?
                    This is the demo runtime of Millrace: no language model is
                    connected (set CHAT_API_URL, CHAT_API_KEY and▌
       dead letters 10 demo.work CARD_EXPIRED The card of customer # has expired
                     4 demo.work LEDGER_LOCKED The ledger of account # is locked
      "
    `);
    expect(widest(drawn())).toBeLessThan(80);
  });

  it('has longer bars on 120 columns', () => {
    expect(`\n${drawn(FACTS, 120).join('\n')}\n`).toMatchInlineSnapshot(`
      "
       Millrace demo   http://127.0.0.1:3000/                                                                      17 of 45 s

       tenant   jobs                                         done  per s        left  share                         now  fair
       whale    ████████░░░░░░░░░░░░░░░░░░░░░░░░░░ 1,250 of 5,000     62  1 min 27 s  ███████┃████░░░░░░░░░░░░░░░  46 %  25 %
       shop-01  █████████████████░░░░░░░░░░░░░░░░░       20 of 40     12       1.6 s  █████░░┃░░░░░░░░░░░░░░░░░░░  18 %  25 %
       shop-02  ██████████████████████████████████       40 of 40
       caller   ██████████████████░░░░░░░░░░░░░░░░     110 of 200     12       4.4 s  █████░░┃░░░░░░░░░░░░░░░░░░░  18 %  25 %
       unlucky  ██████████████████████████████████         9 of 9

       service      demo-service: refused 41, learnt limit 20/s, now 18.2/s, MODERATE
       DAG          load ✔ → eur ✔ gbp ✖ usd … → join · → report –  2 done, 1 failed, 1 running
       operations   12 done, 1 running, half of them within 14 ms
       chat         What came of order 2?
                    This is the demo runtime of Millrace: no language model is connected (set CHAT_API_URL, CHAT_API_KEY and▌

       dead letters 10 demo.work CARD_EXPIRED The card of customer # has expired
                     4 demo.work LEDGER_LOCKED The ledger of account # is locked
      "
    `);
    expect(widest(drawn(FACTS, 120))).toBeLessThan(120);
  });

  it('is the same with colours', () => {
    const coloured = drawn(FACTS, 80, 24, true);
    expect(coloured.join('')).toContain('\u001b[32m█');
    expect(coloured.map(plain).map((line) => line.trimEnd())).toEqual(drawn().map((line) => line.trimEnd()));
  });

  it('shows in the end what each has got over all', () => {
    const lines = drawn({ ...FACTS, isOver: true });
    expect(lines[0]).toMatch(/ over$/);
    expect(lines.find((line) => line.includes('whale'))).toMatch(/61 % {2}55 %$/);
  });

  it.each([20, 60, 79, 100, 300])('is never wider than %i columns', (columns) => {
    expect(widest(drawn(FACTS, columns))).toBeLessThan(columns);
  });

  it.each([5, 12, 24, 50])('has fewer lines than %i rows, however many tenants there are', (rows) => {
    const many = Array.from({ length: 20 }, (_, n) => tenant(`demo-shop-${n + 10}`, { done: n }));
    const facts = { ...FACTS, tenants: [...FACTS.tenants, ...many] };
    const lines = drawn(facts, 80, rows);
    expect(lines.length).toBeLessThan(rows);
    if (rows === 24) {
      expect(lines.join('\n')).toContain(' and 15 more, ');
      for (const name of ['whale', 'caller', 'unlucky']) expect(lines.join('\n')).toContain(` ${name} `);
      expect(lines.at(-1)).toContain('LEDGER_LOCKED');
    }
  });

  it('begins with nothing', () => {
    const nothing = {
      ...FACTS,
      tenants: [],
      service: null,
      batches: { done: 0, failed: 0, open: 0, newest: [] },
      operations: { completed: 0, failed: 0, open: 0, medianMs: null },
      deadLetters: { count: 0, causes: [] },
      chat: { turns: 0, answered: 0, pieces: 0, question: '', answer: '', isStreaming: false },
    };
    const text = drawn(nothing).join('\n');
    for (const words of ['not called yet', 'none yet', '0 done', 'nobody has asked yet', 'no job has failed'])
      expect(text).toContain(words);
    expect(takeaways(nothing)).toEqual([]);
  });

  it('obeys nothing that others have written', () => {
    const evil = '\u001b[2J\u0007';
    const lines = drawn({
      ...FACTS,
      tenants: [tenant(evil)],
      deadLetters: { count: 1, causes: [{ signature: evil, count: 1 }] },
      chat: { ...FACTS.chat, question: evil, answer: evil },
      service: { ...(FACTS.service as NonNullable<typeof FACTS.service>), resource: evil },
      batches: { ...FACTS.batches, newest: [[{ key: evil, state: 'done' }]] },
    });
    expect(lines.join('')).not.toContain('\u001b');
    expect(lines.join('')).not.toContain('\u0007');
  });

  it('breaks texts between words, and words that are too long anywhere', () => {
    expect(wrapped('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrapped('a abcdefghij', 4)).toEqual(['a', 'abcd', 'efgh', 'ij']);
    expect(wrapped('', 4)).toEqual([]);
    // An amount stays with its unit.
    expect(wrapped('the share is 45.9 %. It took 8.4 s, or 12 small steps', 16)).toEqual([
      ...['the share is', '45.9 %. It took', '8.4 s, or 12', 'small steps'],
    ]);
  });
});

describe('the screen of a demo', () => {
  function screen() {
    const writes: string[] = [];
    const stream = new Writable({
      decodeStrings: false,
      write: (text, _encoding, done) => {
        writes.push(String(text));
        done();
      },
    });
    return { writes, stream: Object.assign(stream, { columns: 80 }), events: new EventEmitter() };
  }

  it('draws each picture in one write over the one before, and gives the cursor back', () => {
    const { writes, stream, events } = screen();
    const live = new LiveScreen(stream, events);
    live.draw(['a', 'b']);
    live.draw(['c']);
    stream.columns = 60;
    live.draw(['d']);
    live[Symbol.dispose]();
    expect(writes).toEqual([
      '\u001b[?25l',
      'a\u001b[K\nb\u001b[K\n\u001b[J',
      '\r\u001b[2Ac\u001b[K\n\u001b[J',
      '\u001b[H\u001b[2Jd\u001b[K\n\u001b[J',
      '\u001b[?25h\n',
    ]);
    expect(events.eventNames()).toEqual([]);
  });

  it('gives the cursor back to a process that ends without it', () => {
    const { writes, stream, events } = screen();
    new LiveScreen(stream, events);
    events.emit('exit', 1);
    expect(writes.at(-1)).toBe('\u001b[?25h');
  });
});

describe('what came of a demo', () => {
  it('is told in sentences that are made of facts', () => {
    expect(takeaways(FACTS)).toMatchInlineSnapshot(`
      [
        "The whale brought 5,000 jobs at once. 3 groups of 2 small tenants came behind it: half of them had their first job started within 20 ms, all within 76 ms.",
        "As long as it had jobs waiting, the whale got 61.2 % of what was started; its fair share was 55.0 %. What is above it the others could not use.",
        "demo-service refused 41 calls; 110 of 200 jobs that call it are done all the same. Nobody has said how much it takes: it is called at most 20 times a second now.",
        "14 jobs failed for good. They are kept as dead letters, of 2 causes.",
        "Of 4 batches 2 are done; 1 failed, or had to end with the demo.",
        "12 operations completed, half of them within 14 ms of their acceptance.",
        "1 chat turn got an answer, streamed in 50 pieces.",
      ]
    `);
  });

  it('says of what was waited for the middle and the worst', () => {
    const { tenants, seconds } = summaryOf(FACTS, true);
    expect(seconds).toBe(17);
    expect(tenants[2]).toMatchObject({
      tenant: 'demo-shop-02',
      groups: 2,
      success: 38,
      failed: 2,
      firstStartMs: { median: 8, max: 76 },
      doneMs: { median: 900, max: 2_100 },
    });
    expect(tenants[0]?.doneMs).toBeNull();
    expect(tenants[3]).toMatchObject({ share: null, fairShare: null });
  });
});

describe('the ledger of shares', () => {
  const look = (id: string, served: number, fairShare: number) => ({ id, served, fairShare });

  it('counts what a tenant got while it wanted something', () => {
    const ledger = new ShareLedger();
    ledger.add([look('whale', 100, 0.5), look('shop', 10, 0.5)]);
    expect(ledger.of('whale')).toBeNull();
    ledger.add([look('whale', 130, 0.5), look('shop', 40, 0.5)]);
    // The shop has ended in between: what it got then says nothing of its share.
    ledger.add([look('whale', 180, 1), look('shop', 50, 0)]);
    expect(ledger.of('shop')).toEqual({ share: 0.5, fairShare: 0.5 });
    const { share, fairShare } = ledger.of('whale') ?? {};
    expect(share).toBeCloseTo(80 / 120);
    expect(fairShare).toBeCloseTo((0.5 * 60 + 0.75 * 60) / 120);
    expect(ledger.recent('whale')).toEqual(ledger.of('whale'));
    for (let n = 1; n <= 5; n++) ledger.add([look('whale', 180 + n, 1)]);
    expect(ledger.recent('whale')).toEqual({ share: 1, fairShare: 1 });
    expect(ledger.recent('shop')).toBeNull();
    expect(ledger.of('shop')).toEqual({ share: 0.5, fairShare: 0.5 });
  });

  it('leaves out a time in which somebody unknown got something', () => {
    const ledger = new ShareLedger();
    ledger.add([look('whale', 100, 1)]);
    ledger.add([look('whale', 200, 0.5), look('shop', 5_000, 0.5)]);
    expect(ledger.of('whale')).toBeNull();
    ledger.add([look('whale', 210, 0.5), look('shop', 5_010, 0.5)]);
    expect(ledger.of('whale')).toEqual({ share: 0.5, fairShare: 0.5 });
  });
});
