import { ManualClock, until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { inline, MemoryOperationStore, OrchestratorService, RouteExecutor } from '../../src/index.js';
import { openEventStream } from '../../src/nestjs/event-stream.js';
import { endless } from './boot.js';

it('orchestrator FR-5: sends a comment every 15 s on a silent stream, and ends with its signal', async () => {
  const clock = new ManualClock();
  const executor = new RouteExecutor({ routes: { 'A.B': endless }, clock, maxProcessingMs: 600_000 });
  const store = new MemoryOperationStore({ clock });
  const orchestrator = new OrchestratorService({ executor, store, clock, gracePeriodMs: 0 });
  const submitting = orchestrator.submit({ domain: 'A', eventType: 'B', bizKey: 'k' }, 50);
  await until(
    () => clock.advance(10).then(() => store.views.counts().then(({ byState }) => byState.IN_PROGRESS)),
    {
      what: 'the operation to begin',
    },
  );
  await clock.advance(50);
  const { opId } = await submitting;
  const gone = new AbortController();
  const { operations } = orchestrator;
  const stream = await openEventStream({ operations, clock }, opId, { signal: gone.signal });
  const chunks: string[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  await until(() => chunks.length === 1, { what: 'the start' });
  expect(chunks[0]).toMatch(/^event: start\ndata: \{"opId":.*\}\n\n$/);
  for (const count of [2, 3]) {
    await clock.advance(14_999);
    expect(chunks).toHaveLength(count - 1);
    await clock.advance(1);
    await until(() => chunks.length === count, { what: 'a sign of life' });
    expect(chunks.at(-1)).toBe(': alive\n\n');
  }
  const closed = new Promise((resolve) => stream.once('close', resolve));
  gone.abort();
  await closed;
  await Promise.all([orchestrator.stop(), clock.advance(1_000)]);
});

it('orchestrator FR-5: destroys the stream of a client that disconnected before it opened', async () => {
  const executor = new RouteExecutor({ routes: { 'A.B': inline(() => 1) } });
  await using orchestrator = new OrchestratorService({ executor, store: new MemoryOperationStore() });
  const { opId } = await orchestrator.submit({ domain: 'A', eventType: 'B', bizKey: 'k' }, 5_000);
  const { operations, options } = orchestrator;
  const signal = AbortSignal.abort();
  const stream = await openEventStream({ operations, clock: options.clock }, opId, { signal });
  expect(stream.destroyed).toBe(true);
});
