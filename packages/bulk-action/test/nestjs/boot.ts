import 'reflect-metadata';
import { silentLogger } from '@millrace/foundation';
import { until } from '@millrace/testkit';
import type { DynamicModule, INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { expect, onTestFinished } from 'vitest';
import type { BulkActionService } from '../../src/bulk-action-service.js';
import type { Job } from '../../src/processor.js';
import { hasEnded } from '../../src/states.js';

class Root {}

/** A root module made on the spot. */
const rootModule = (metadata: ModuleMetadata): DynamicModule => ({ module: Root, ...metadata });

/** A module of its own on the spot; modules of one class are different ones all the same. */
export const feature = (name: string, metadata: ModuleMetadata): DynamicModule => {
  const { [name]: module } = { [name]: class {} };
  return { module: module as new () => object, ...metadata };
};

/** Starts an application without HTTP, and without closing it. */
export const start = (metadata: ModuleMetadata): Promise<INestApplicationContext> =>
  NestFactory.createApplicationContext(rootModule(metadata), { abortOnError: false, logger: false });

/** Starts an application without HTTP; it is closed when the test ends. */
export async function boot(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  const app = await start(metadata);
  onTestFinished(() => app.close());
  return app;
}

/** Quick, quiet, and without the processors that ship. */
export const QUIET = {
  log: silentLogger,
  shippedProcessors: false,
  workerPool: { workerCount: 2, fetchIntervalMs: 20, shutdownGracePeriodMs: 2000 },
} as const;

/** Waits for the end of a group. */
export const ended = (service: BulkActionService, groupId: string) =>
  until(async () => hasEnded((await service.getProgress(groupId)).status), { what: `${groupId} to end` });

/** A processor class that knows what it ran; a new one for each test. */
export function recorder(type: string) {
  class Recorder {
    readonly type = type;
    readonly ran: unknown[] = [];

    process({ payload }: Job): { ran: unknown } {
      this.ran.push(payload);
      return { ran: payload };
    }
  }
  return Recorder;
}

/** An error of this code, with these words in its message. */
export const refused = (code: string, message = '') =>
  expect.objectContaining({ code, message: expect.stringContaining(message) });
