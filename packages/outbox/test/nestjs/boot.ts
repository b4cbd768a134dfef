import 'reflect-metadata';
import { silentLogger } from '@millrace/foundation';
import { until } from '@millrace/testkit';
import type { DynamicModule, INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { expect, onTestFinished } from 'vitest';
import type { Batches } from '../../src/batches.js';
import type { Batch } from '../../src/model.js';

class Root {}

/** A module of its own on the spot; modules of one class are different ones all the same. */
export const feature = (name: string, metadata: ModuleMetadata): DynamicModule => {
  const { [name]: module } = { [name]: class {} };
  return { module: module as new () => object, ...metadata };
};

/** Starts an application without HTTP, and without closing it. */
export const start = (metadata: ModuleMetadata): Promise<INestApplicationContext> =>
  NestFactory.createApplicationContext({ module: Root, ...metadata }, { abortOnError: false, logger: false });

/** Starts an application without HTTP; it is closed when the test ends. */
export async function boot(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  const app = await start(metadata);
  onTestFinished(() => app.close());
  return app;
}

/** Quick and quiet. */
export const QUIET = { logger: silentLogger, pollIntervalMs: 20, gracePeriodMs: 2_000 } as const;

/** Waits for the end of a batch. */
export const ended = (batches: Batches, id: string): Promise<Batch> =>
  until(
    async () => {
      const batch = await batches.get(id);
      return batch.status !== 'RUNNING' && batch;
    },
    { what: `batch ${id} to end`, deadlineMs: 10_000 },
  );

/** An error of this code, with these words in its message. */
export const refused = (code: string, message = '') =>
  expect.objectContaining({ code, message: expect.stringContaining(message) });
