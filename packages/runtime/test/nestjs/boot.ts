import 'reflect-metadata';
import type { DynamicModule, INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { onTestFinished } from 'vitest';

class Root {}

/** A root module made on the spot. */
export const rootModule = (metadata: ModuleMetadata): DynamicModule => ({ module: Root, ...metadata });

/** Starts an application without HTTP; it is closed when the test ends. */
export async function boot(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  const app = await NestFactory.createApplicationContext(rootModule(metadata), {
    abortOnError: false,
    logger: false,
  });
  onTestFinished(() => app.close());
  return app;
}

type LegacyDecorator<C> = (target: object, key: string, descriptor: TypedPropertyDescriptor<C>) => void;

/** Does what the compiler makes of `@decorator method()` under legacy rules. */
export function decorateLegacy<I extends object, K extends keyof I & string>(
  type: { readonly prototype: I },
  key: K,
  decorator: LegacyDecorator<I[K]>,
): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, key) as TypedPropertyDescriptor<I[K]>;
  decorator(type.prototype, key, descriptor);
  Object.defineProperty(type.prototype, key, descriptor);
}
