import {
  type AsyncUtilsConfig,
  type CallSite,
  ConcurrencyLimit,
  Retryable,
  Timeout,
} from '@millrace/async-utils/nestjs';
import { Inject, Injectable, type OnModuleInit, Scope } from '@nestjs/common';

export const noDelay = () => 0;

/** Fails for ever; the number of tries shows whose settings hold. */
@Injectable()
export class Failing {
  tries = 0;

  @Retryable()
  async work(): Promise<void> {
    this.tries++;
    throw new Error('always');
  }

  @Retryable({ retries: 1 })
  async once(): Promise<void> {
    this.tries++;
    throw new Error('always');
  }

  @Retryable({ retries: undefined })
  async undecided(): Promise<void> {
    this.tries++;
    throw new Error('always');
  }
}

@Injectable({ scope: Scope.REQUEST })
export class RequestFailing extends Failing {}

@Injectable({ scope: Scope.TRANSIENT })
export class TransientFailing extends Failing {}

@Injectable()
export class TransientUser {
  constructor(@Inject(TransientFailing) readonly own: TransientFailing) {}
}

/** Uses a decorated neighbour while the application starts. */
@Injectable()
export class EarlyUser implements OnModuleInit {
  constructor(@Inject(Failing) private readonly failing: Failing) {}

  async onModuleInit(): Promise<void> {
    await this.failing.work().catch(() => {});
  }
}

@Injectable()
export class Bare {
  @Timeout()
  async hang(): Promise<void> {
    await new Promise(() => {});
  }

  @Timeout({ fallback: undefined })
  async silent(): Promise<string | undefined> {
    return new Promise(() => {});
  }

  @ConcurrencyLimit()
  async limited(): Promise<void> {}
}

/** A method with all layers, for the hooks. */
@Injectable()
export class Layered {
  tries = 0;

  @ConcurrencyLimit(1)
  @Retryable({ retries: 2, backoff: noDelay })
  @Timeout(10)
  async work(successAt: number): Promise<string> {
    this.tries++;
    if (this.tries === 1) return new Promise(() => {});
    if (this.tries < successAt) throw new Error(`try ${this.tries}`);
    return 'done';
  }
}

/** Settings whose hooks write everything down. */
export function recorder(): { config: AsyncUtilsConfig; events: [name: string, event: CallSite][] } {
  const events: [string, CallSite][] = [];
  const record = (name: string) => (event: CallSite) => void events.push([name, event]);
  return {
    events,
    config: {
      onRetry: record('retry'),
      onTimeout: record('timeout'),
      onSuccess: record('success'),
      onError: record('error'),
    },
  };
}
