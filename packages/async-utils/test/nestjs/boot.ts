import 'reflect-metadata';
import type { AsyncUtilsConfig, CallSite } from '@millrace/async-utils/nestjs';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { onTestFinished } from 'vitest';

/** Makes an application on Fastify, without a port. It is closed when the test ends. */
export async function create(metadata: ModuleMetadata): Promise<NestFastifyApplication> {
  class Root {}
  const root: DynamicModule = { module: Root, ...metadata };
  const options = { abortOnError: false, logger: false } as const;
  const app = await NestFactory.create<NestFastifyApplication>(root, new FastifyAdapter(), options);
  onTestFinished(() => app.close());
  return app;
}

/** Makes and starts an application. */
export async function boot(
  metadata: ModuleMetadata,
  prepare?: (app: NestFastifyApplication) => void,
): Promise<NestFastifyApplication> {
  const app = await create(metadata);
  prepare?.(app);
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return app;
}

/** Settings whose hooks record their events. */
export function recorder(): { hooks: AsyncUtilsConfig; events: [name: string, event: CallSite][] } {
  const events: [string, CallSite][] = [];
  const record = (name: string) => (event: CallSite) => void events.push([name, event]);
  return {
    events,
    hooks: {
      onRetry: record('retry'),
      onTimeout: record('timeout'),
      onSuccess: record('success'),
      onError: record('error'),
    },
  };
}
