import type { BulkActionService, JobInput } from '@millrace/bulk-action';
import type { Orchestrator } from '@millrace/orchestrator';
import type { Pusher } from '@millrace/outbox';
import type { ChatService } from '@millrace/runtime/chat';
import type { DemoStep } from './plan.js';

/** Through what a demo works: the same doors as everybody. */
export interface DemoDoors {
  readonly bulk: BulkActionService;
  readonly pusher: Pusher;
  readonly orchestrator: Orchestrator;
  /** Only where asking costs nobody anything. */
  readonly chat: ChatService | undefined;
}

/**
 * Does one thing of a demo. Done again it changes nothing.
 * @param named - `name`: its own; `deadline`: when it stops being wanted, whoever is there to end it.
 * @throws MillraceError what each door throws.
 */
export async function performStep(
  { bulk, pusher, orchestrator, chat }: DemoDoors,
  step: DemoStep,
  { name, deadline }: { readonly name: string; readonly deadline: Date },
): Promise<void> {
  const { tenant } = step;
  switch (step.kind) {
    case 'group': {
      const { jobs, processorType, payload } = step;
      await bulk.submitBulk({ id: name, tenant, deadline }, jobsOfGroup(jobs, processorType, payload));
      return;
    }
    case 'batch':
      await pusher.start('demo-settle', name, step.payload, { tenant });
      return;
    case 'command':
      await orchestrator.submit(
        { domain: 'DEMO', eventType: step.eventType, bizKey: name, idemKey: name, payload: step.payload },
        undefined,
        { tenant },
      );
      return;
    case 'chat':
      await chat?.createSession({ sessionId: name, tenant });
      await chat?.enqueue(name, step.message, { tenant });
  }
}

/**
 * Jobs of a group of the demo, all alike.
 */
export const jobsOfGroup = (count: number, processorType: string, payload: object): JobInput[] =>
  Array.from({ length: count }, (_, n) => ({ id: `job-${n + 1}`, processorType, payload }));
