import { recordingLogger } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { OutboxEvents } from '../src/events.js';

describe('outbox: events', () => {
  it('outbox: what a listener throws is logged, and the others are told', () => {
    const { log, lines } = recordingLogger();
    const events = new OutboxEvents(log);
    const counts: number[] = [];
    events.on('lease-expired', () => {
      throw new Error('as the test wants');
    });
    const remove = events.on('lease-expired', ({ count }) => void counts.push(count));
    events.emit('lease-expired', { count: 3 });
    remove();
    events.emit('lease-expired', { count: 4 });
    expect(counts).toEqual([3]);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatchObject({
      level: 'error',
      fields: { event: 'lease-expired', reason: expect.stringContaining('as the test wants') },
    });
  });
});
