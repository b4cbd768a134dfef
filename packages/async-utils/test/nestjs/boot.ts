import 'reflect-metadata';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { onTestFinished } from 'vitest';

class Root {}

/** A root module made on the spot. */
export const rootModule = (metadata: ModuleMetadata): DynamicModule => ({ module: Root, ...metadata });

/** Starts an application on Fastify, without a port; it is closed when the test ends. */
export async function boot(
  metadata: ModuleMetadata,
  prepare?: (app: NestFastifyApplication) => void,
): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(rootModule(metadata), new FastifyAdapter(), {
    abortOnError: false,
    logger: false,
  });
  prepare?.(app);
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  onTestFinished(() => app.close());
  return app;
}
