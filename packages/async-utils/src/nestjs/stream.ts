import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { Observable, type Subscriber } from 'rxjs';
import { onAbort } from '../abort.js';
import { type AsyncHooks, observed } from '../hooks.js';
import { hooksAt } from './events.js';
import type { AsyncUtilsConfig, CallSite } from './options.js';
import { planOf } from './plan.js';

// Requests whose end is already reported by an interceptor farther out.
const reported = new WeakSet<ExecutionContext>();

/** Which handler a request goes to. */
export const siteOf = (context: ExecutionContext): CallSite => ({
  className: context.getClass().name,
  methodName: context.getHandler().name,
});

/** The module's hooks for one request. The end is told once: not by each interceptor, nor beside a decorated handler. */
export function requestHooks(config: AsyncUtilsConfig, context: ExecutionContext): AsyncHooks {
  const hooks = hooksAt(config, siteOf(context));
  if (!reported.has(context) && !planOf(context.getHandler())) {
    reported.add(context);
    return hooks;
  }
  const { onRetry, onTimeout } = hooks;
  return { onRetry, onTimeout };
}

/** One run of an interceptor. */
interface Run {
  /** Aborts when the caller's signal does or when the response is no longer wanted. */
  readonly signal: AbortSignal;
  readonly subscriber: Subscriber<unknown>;
  /** Counts one run of the handler and passes its values to `sink`; settles when its stream ends. */
  forward(sink: (value: unknown) => void): Promise<void>;
}

/** A response that `work` writes; whoever unsubscribes stops the work and the handler's stream. */
export function respond(
  next: CallHandler,
  outer: AbortSignal | undefined,
  hooks: AsyncHooks,
  work: (run: Run) => Promise<void>,
): Observable<unknown> {
  return new Observable((subscriber) => {
    const controller = new AbortController();
    const { signal } = controller;
    const follow = () => controller.abort(outer?.reason);
    if (outer?.aborted) follow();
    const off = outer && onAbort(outer, follow);
    let attempts = 0;
    const forward = (sink: (value: unknown) => void) => {
      attempts++;
      return new Promise<void>((resolve, reject) => {
        const inner = next.handle().subscribe({ next: sink, error: reject, complete: resolve });
        inner.add(onAbort(signal, () => inner.unsubscribe()));
      });
    };
    observed(
      hooks,
      () => attempts,
      () => work({ signal, subscriber, forward }),
    ).then(
      () => subscriber.complete(),
      (error: unknown) => subscriber.error(error),
    );
    return () => {
      off?.();
      controller.abort();
    };
  });
}
