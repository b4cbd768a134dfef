import type { WorkContext } from '@millrace/foundation';
import type { TaskStream } from './task-stream.js';

/** What a task's handler is given besides its input. */
export interface TaskContext extends WorkContext {
  /**
   * Appends text to the task's stream. Await it: it resolves when the stream has room, so a slow reader slows the
   * handler instead of filling the memory.
   * @throws MillraceError `TASK_CANCELLED` when the task has ended, `TASK_OUTPUT_TOO_LARGE`.
   */
  emit(text: string): Promise<void>;
}

/**
 * The user's function: an async generator that yields text, or a function that calls `context.emit`; what it returns
 * is the task's value, and the task's only chunk when it is a text and nothing was streamed.
 */
export type TaskHandler<I, R> = (
  input: I,
  context: TaskContext,
) => AsyncGenerator<string, R, unknown> | AsyncIterable<string> | PromiseLike<R> | R;

/**
 * Runs a handler and brings what it yields into the stream. Settles when the handler has really ended and all it
 * wrote is in the stream.
 * @param handler - the user's function.
 * @param input - the task's input.
 * @returns the handler's return value.
 * @throws what the handler throws.
 */
export async function runHandler<I, R>(
  handler: TaskHandler<I, R>,
  input: I,
  context: TaskContext,
  stream: TaskStream,
): Promise<R | undefined> {
  try {
    const output: unknown = await handler(input, context);
    const value = isAsyncIterable(output) ? await drain(output, stream) : output;
    await stream.flushed();
    if (typeof value === 'string' && !stream.hasText) await stream.write(value);
    return value as R | undefined;
  } catch (error) {
    // Text that was written before the failure belongs before the failure.
    await stream.flushed();
    throw error;
  }
}

/** `for await` would lose the generator's return value. */
async function drain(source: AsyncIterable<unknown>, stream: TaskStream): Promise<unknown> {
  const iterator = source[Symbol.asyncIterator]();
  for (;;) {
    const step = await iterator.next();
    if (step.done) return step.value;
    try {
      await stream.write(step.value as string);
    } catch (error) {
      // Refused (cancelled, too long): let the generator run its `finally`, and wait for that; the lane does too.
      await leave(iterator);
      throw error;
    }
  }
}

async function leave(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The first error is the one to tell, as in `for await`.
  }
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof (value as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator] === 'function';
