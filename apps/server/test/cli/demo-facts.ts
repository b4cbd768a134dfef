import type { DemoFacts, TenantFacts } from '../../src/cli/demo/facts.js';

/** A tenant of a demo, in the middle of it. */
export const tenant = (id: string, more: Partial<TenantFacts> = {}): TenantFacts => ({
  id,
  kind: 'small',
  jobs: 40,
  done: 20,
  failed: 0,
  cancelled: 0,
  perSecond: 12.4,
  etaMs: 1_600,
  now: { share: 0.18, fairShare: 0.25 },
  overall: { share: 0.24, fairShare: 0.25 },
  groups: [{ startedAfterMs: 20, doneAfterMs: 1_500 }],
  ...more,
});

/** A demo in the middle of it. */
export const FACTS: DemoFacts = {
  run: 'demo-1',
  url: 'http://127.0.0.1:3000',
  elapsedMs: 17_300,
  lengthMs: 45_000,
  isOver: false,
  tenants: [
    tenant('demo-whale', {
      kind: 'whale',
      jobs: 5_000,
      done: 1_250,
      perSecond: 61.5,
      etaMs: 87_000,
      now: { share: 0.46, fairShare: 0.25 },
      overall: { share: 0.612, fairShare: 0.55 },
      groups: [{ startedAfterMs: 31, doneAfterMs: null }],
    }),
    tenant('demo-shop-01'),
    tenant('demo-shop-02', {
      done: 38,
      failed: 2,
      perSecond: 0,
      etaMs: null,
      now: null,
      groups: [
        { startedAfterMs: 76, doneAfterMs: 2_100 },
        { startedAfterMs: 8, doneAfterMs: 900 },
      ],
    }),
    tenant('demo-caller', { kind: 'other', jobs: 200, done: 110, etaMs: 4_400, overall: null }),
    tenant('demo-unlucky', { kind: 'other', jobs: 9, done: 0, failed: 9, etaMs: null, now: null }),
  ],
  service: { resource: 'demo-service', perSecond: 18.24, limit: 19.96, refused: 41, level: 'MODERATE' },
  batches: {
    done: 2,
    failed: 1,
    open: 1,
    newest: [
      [{ key: 'load', state: 'done' }],
      [
        { key: 'eur', state: 'done' },
        { key: 'gbp', state: 'failed' },
        { key: 'usd', state: 'running' },
      ],
      [{ key: 'join', state: 'waiting' }],
      [{ key: 'report', state: 'left out' }],
    ],
  },
  operations: { completed: 12, failed: 0, open: 1, medianMs: 14 },
  deadLetters: {
    count: 14,
    causes: [
      { signature: 'demo.work CARD_EXPIRED The card of customer # has expired', count: 10 },
      { signature: 'demo.work LEDGER_LOCKED The ledger of account # is locked', count: 4 },
    ],
  },
  chat: {
    turns: 2,
    answered: 1,
    pieces: 50,
    question: 'What came of order 2?',
    answer:
      'This is the demo runtime of Millrace: no language model is connected (set CHAT_API_URL, CHAT_API_KEY and',
    isStreaming: true,
  },
};
