import { ProblemError } from '@millrace/contract/server-client';
import { describe, expect, it } from 'vitest';
import {
  afterEvent,
  afterRefusal,
  hasEnded,
  type TurnProgress,
  UNHEARD,
} from '../../src/rules/turn-progress.js';

type Event = readonly [type: string, data?: Parameters<typeof afterEvent>[2]];

const after = (...events: readonly Event[]): TurnProgress =>
  events.reduce((progress, [type, data = {}]) => afterEvent(progress, type, data), UNHEARD);

describe('a turn as its stream tells it', () => {
  it('waits until it is heard, runs, and then answers piece by piece', () => {
    expect(after()).toEqual({ status: 'QUEUED', text: '', problem: undefined });
    expect(after(['start']).status).toBe('RUNNING');
    expect(after(['start'], ['token', { text: 'Good' }], ['token', { text: ' day' }])).toEqual({
      status: 'STREAMING',
      text: 'Good day',
      problem: undefined,
    });
  });

  it('takes a snapshot for everything before it', () => {
    const progress = after(
      ['start'],
      ['token', { text: 'lost' }],
      ['token', { text: 'All of it', snapshot: true }],
      ['token', { text: '!' }],
    );
    expect(progress.text).toBe('All of it!');
  });

  it('begins again with a stream that was cut and opened again', () => {
    const progress = after(
      ['start'],
      ['token', { text: 'Good' }],
      ['start'],
      ['token', { text: 'Good day' }],
    );
    expect(progress.text).toBe('Good day');
  });

  it('ends with its whole text', () => {
    const progress = after(['start'], ['token', { text: 'Yes' }], ['done']);
    expect(progress).toEqual({ status: 'COMPLETED', text: 'Yes', problem: undefined });
  });

  it('says why it failed, and keeps what it had said', () => {
    const error = { code: 'CHAT_STREAM_ERROR', message: 'The model has hung up' };
    expect(after(['start'], ['token', { text: 'Ye' }], ['error', error])).toEqual({
      status: 'FAILED',
      text: 'Ye',
      problem: 'The model has hung up',
    });
    expect(after(['error', { code: 'ODD' }]).problem).toBe('ODD');
  });

  it('knows a cancelled one from a failed one', () => {
    const progress = after(['start'], ['error', { code: 'TASK_CANCELLED', message: 'It was cancelled' }]);
    expect(progress).toEqual({ status: 'CANCELLED', text: '', problem: undefined });
  });

  it('never changes after its end, nor with an event that nobody knows', () => {
    expect(after(['start'], ['done'], ['token', { text: 'late' }], ['start']).status).toBe('COMPLETED');
    expect(after(['start'], ['token', { text: 'a' }], ['applause']).text).toBe('a');
  });

  it('is forgotten only when the server says so; otherwise the refusal is told', () => {
    const refused = (status: number) =>
      afterRefusal(
        after(['start'], ['token', { text: 'Ye' }]),
        new ProblemError({
          type: 'about:blank',
          title: '',
          status,
          detail: 'This API key is not known',
          code: 'ODD',
          retryable: false,
        }),
      );
    expect(refused(404)).toMatchObject({ status: 'FAILED', text: 'Ye' });
    expect(refused(404).problem).toContain('knows nothing of this turn any more');
    for (const status of [400, 401, 403]) {
      expect(refused(status).status).toBe('FAILED');
      expect(refused(status).problem).toBe('This API key is not known');
    }
  });

  it('is over in three ways', () => {
    const all = ['QUEUED', 'RUNNING', 'STREAMING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
    expect(all.filter(hasEnded)).toEqual(['COMPLETED', 'FAILED', 'CANCELLED']);
  });
});
