import { describe, expect, it } from 'vitest';
import { type VerdictFacts, verdictOf } from '../../src/rules/verdict.js';

type Tenant = VerdictFacts['tenants'][number];
type Resource = VerdictFacts['resources'][number];

const tenant = (id: string, pending: number): Tenant =>
  ({ id, pending, inFlight: 0, share: 0.5, fairShare: 0.5 }) as Tenant;
const resource = (name: string, { frozenForMs = 0, limit = null }: Partial<Resource>): Resource =>
  ({ resource: name, frozenForMs, limit }) as Resource;
const queues = { lane: 10, ready: 5, nonReady: 0, inFlight: 3, liveSlots: 4, waitingSlots: 1 };
const facts = (given: Partial<VerdictFacts> = {}): VerdictFacts => ({
  tenants: [tenant('a', 5), tenant('b', 1), tenant('idle', 0)],
  underserved: [],
  queues,
  resources: [resource('mail', {})],
  ...given,
});

describe('is everybody served?', () => {
  it('yes, with who wants something and who works', () => {
    expect(verdictOf(facts())).toEqual({
      headline: 'Everybody is served',
      note: '2 tenants want something now; 3 of 4 workers are busy.',
      tone: 'ok',
      findings: [],
    });
  });

  it('there is nothing to do', () => {
    const idle = { ...queues, lane: 0, ready: 0, inFlight: 0 };
    expect(verdictOf(facts({ queues: idle })).headline).toBe('All is quiet');
    expect(verdictOf(facts({ queues: null, tenants: [tenant('idle', 0)] })).headline).toBe('All is quiet');
  });

  it('no: those who get less are named, or counted where they are many', () => {
    const few = verdictOf(facts({ underserved: ['a'] }));
    expect(few).toMatchObject({ headline: 'Not everybody gets their share', tone: 'hold' });
    expect(few.findings[0]?.text).toContain('a gets clearly less');
    const many = verdictOf(facts({ underserved: ['a', 'b', 'c', 'd'] }));
    expect(many.findings[0]?.text).toContain('4 tenants get clearly less');
  });

  it('as far as services allow: which, how fast, or until when', () => {
    const { headline, findings } = verdictOf(
      facts({
        resources: [
          resource('mail', { limit: 12.5 }),
          resource('push', { frozenForMs: 3_000 }),
          resource('web', {}),
        ],
      }),
    );
    expect(headline).toBe('Everybody is served, as far as the called services allow');
    expect(findings.map(({ text }) => text)).toEqual([
      'mail has refused calls: at most 12.5 a second are made',
      'push refuses calls: the next is made in 3.0 s',
    ]);
  });

  it('nobody works', () => {
    const { tone, findings } = verdictOf(facts({ queues: { ...queues, liveSlots: 0, waitingSlots: 0 } }));
    expect(tone).toBe('fail');
    expect(findings).toEqual([
      { text: '15 jobs wait and there are no workers', tone: 'fail', view: 'workers' },
    ]);
  });
});
