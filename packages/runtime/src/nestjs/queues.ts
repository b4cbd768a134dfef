import { InMemoryQueue } from '../memory/queue.js';
import type { Queue } from '../ports.js';
import { invalid, type QueueSource, type ResolvedRuntimeModuleOptions } from './options.js';

/** A queue of the application, and whether the module has to close it. */
export interface NamedQueue {
  readonly queue: Queue<unknown>;
  readonly owned: boolean;
}

/** The queues of one application by name. */
export class RuntimeQueues extends Map<string, NamedQueue> {}

/** Makes or fetches every queue that the options name. */
export async function makeQueues({ queues, clock }: ResolvedRuntimeModuleOptions): Promise<RuntimeQueues> {
  const made = new RuntimeQueues();
  for (const [name, source] of Object.entries(queues)) {
    if (isQueue(source)) made.set(name, { queue: source, owned: false });
    else if (typeof source !== 'function')
      made.set(name, { queue: new InMemoryQueue({ name, ...source }, { clock }), owned: true });
    else {
      const queue: unknown = await source();
      if (!isQueue(queue)) throw invalid(`queues.${name}`, 'a function that gives a Queue', queue);
      made.set(name, { queue, owned: false });
    }
  }
  return made;
}

const isQueue = (source: QueueSource | unknown): source is Queue<unknown> =>
  typeof (source as Queue<unknown> | null | undefined)?.get === 'function';
