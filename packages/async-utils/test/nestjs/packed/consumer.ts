/** What a user writes, compiled against the packed declarations under both decorator systems. */
import { type AsyncHooks, isRetryError, type RetryOptions } from '@millrace/async-utils';
import {
  ASYNC_UTILS_CONFIG,
  type AsyncUtilsConfig,
  type AsyncUtilsConfigFactory,
  AsyncUtilsModule,
  ConcurrencyLimit,
  Retryable,
  RetryInterceptor,
  Timeout,
  TimeoutInterceptor,
} from '@millrace/async-utils/nestjs';
import { type DynamicModule, Injectable } from '@nestjs/common';

interface User {
  readonly id: string;
}

@Injectable()
@ConcurrencyLimit(4)
export class Users {
  protected constructor(private readonly prefix: string) {}

  @Retryable({ retries: 2, shouldRetry: (error) => !isRetryError(error) })
  @Timeout({ ms: 100, fallback: null })
  @ConcurrencyLimit({ concurrency: 2, priority: 7 })
  async find(id: string, ...more: number[]): Promise<User | null> {
    return { id: `${this.prefix}${id}${more.length}` };
  }

  @Retryable()
  @Timeout()
  all<T extends User>(users: T[]): Promise<T[]> {
    return Promise.resolve(users);
  }

  // @ts-expect-error a method that returns no promise
  @Timeout(5)
  count(): number {
    return 1;
  }

  @Timeout(50)
  static async make(): Promise<Users> {
    return new Users('');
  }
}

class Settings implements AsyncUtilsConfigFactory {
  createAsyncUtilsConfig(): AsyncUtilsConfig {
    return {
      retry: { retries: 1 } satisfies RetryOptions,
      onRetry: ({ className, methodName, attempt }) => console.log(className, methodName, attempt),
    };
  }
}

const hooks: AsyncHooks = { onError: ({ error }) => console.error(error) };

export const modules: DynamicModule[] = [
  AsyncUtilsModule.forRoot({ ...hooks, timeout: { ms: 10 }, limit: { concurrency: 2 } }),
  AsyncUtilsModule.forRootAsync({ inject: ['ms'], useFactory: async (ms: number) => ({ timeout: { ms } }) }),
  AsyncUtilsModule.forRootAsync({ useClass: Settings }),
  AsyncUtilsModule.forRootAsync({ useExisting: Settings }),
];
export const token: symbol = ASYNC_UTILS_CONFIG;
export const interceptors = [new RetryInterceptor({ retries: 1 }), new TimeoutInterceptor(100)];
