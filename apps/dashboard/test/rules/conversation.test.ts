import { describe, expect, it } from 'vitest';
import { type ConversationFacts, conversationOf, isOpen, sessionName } from '../../src/rules/conversation.js';
import type { TurnProgress } from '../../src/rules/turn-progress.js';

const AT = '2026-01-01T00:00:00.000Z';

const said = (role: 'user' | 'assistant', task_id: string, content: string) => ({
  ...{ role, task_id, content, created_at: AT },
});
const of = (facts: Partial<ConversationFacts>) =>
  conversationOf({ messages: [], turns: [], sent: [], ends: new Map(), ...facts });
const ended = (taskId: string, end: Partial<TurnProgress>): ConversationFacts['ends'] =>
  new Map([[taskId, { status: 'COMPLETED', text: '', problem: undefined, ...end }]]);

describe('a conversation', () => {
  it('puts answers behind their questions, in order', () => {
    const messages = [
      said('user', 'a', 'One?'),
      said('assistant', 'a', 'One.'),
      said('user', 'b', 'Two?'),
      said('user', 'c', 'Three?'),
    ];
    const turns = [
      { task_id: 'b', status: 'STREAMING' as const },
      { task_id: 'c', status: 'QUEUED' as const },
    ];
    const exchanges = of({ messages, turns });
    expect(exchanges.map(({ question, answer, status }) => [question, answer, status])).toEqual([
      ['One?', 'One.', 'COMPLETED'],
      ['Two?', undefined, 'STREAMING'],
      ['Three?', undefined, 'QUEUED'],
    ]);
    expect(exchanges.map(isOpen)).toEqual([false, true, true]);
  });

  it('shows what was said here before the server is asked again, and once', () => {
    const sent = [{ taskId: 'a', message: 'One?', at: AT }];
    expect(of({ sent })).toMatchObject([{ question: 'One?', askedAt: AT, status: 'QUEUED' }]);
    const messages = [said('user', 'a', 'One?')];
    expect(of({ sent, messages })).toHaveLength(1);
    const turns = [{ task_id: 'a', status: 'RUNNING' as const }];
    expect(of({ sent, messages, turns })).toMatchObject([{ status: 'RUNNING' }]);
  });

  it('believes an end that was heard more than an older list, and an answer that is kept most', () => {
    const messages = [said('user', 'a', 'One?')];
    const turns = [{ task_id: 'a', status: 'STREAMING' as const }];
    const ends = ended('a', { status: 'CANCELLED', text: 'On' });
    expect(of({ messages, turns, ends })).toMatchObject([{ status: 'CANCELLED', answer: 'On' }]);
    const kept = [...messages, said('assistant', 'a', 'One.')];
    expect(of({ messages: kept, turns, ends })).toMatchObject([{ status: 'COMPLETED', answer: 'One.' }]);
  });

  it('says that it does not know how a turn ended that nobody heard', () => {
    const [exchange] = of({ messages: [said('user', 'a', 'One?')] });
    expect(exchange).toMatchObject({ status: undefined, answer: undefined });
    expect(exchange && isOpen(exchange)).toBe(false);
  });

  it('keeps an answer whose question is kept no more', () => {
    expect(of({ messages: [said('assistant', 'a', 'One.')] })).toMatchObject([
      { question: undefined, answer: 'One.' },
    ]);
  });

  it('names sessions without their tenant', () => {
    expect(sessionName('shop/order-1')).toBe('order-1');
    expect(sessionName('order-1')).toBe('order-1');
  });
});
