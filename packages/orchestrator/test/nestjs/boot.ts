import 'reflect-metadata';
import { createClient, type OperationsClient } from '@millrace/contract/client';
import { silentLogger } from '@millrace/foundation';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { expect, onTestFinished } from 'vitest';
import { inline } from '../../src/index.js';
import {
  OrchestratorHost,
  OrchestratorModule,
  type OrchestratorModuleOptions,
  type OrchestratorModuleShape,
} from '../../src/nestjs/index.js';

class Root {}

/** Makes a module with a class of its own. */
export const feature = (name: string, metadata: ModuleMetadata): DynamicModule => {
  const { [name]: module } = { [name]: class {} };
  return { module: module as new () => object, ...metadata };
};

/** An application that listens. */
export interface Served {
  readonly app: NestFastifyApplication;
  readonly url: string;
  readonly client: OperationsClient;
  readonly host: OrchestratorHost;
  /** Sends a request without the client. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** Posts a body to the operations. */
  post(body: unknown, headers?: Record<string, string>): Promise<Response>;
}

/** Options of the application. */
export interface ServeOptions {
  readonly metadata?: ModuleMetadata;
  readonly prepare?: (app: NestFastifyApplication) => void;
  readonly path?: string;
}

/** Starts an application as `open` does and closes it at the end of the test. */
export async function serve(...given: Parameters<typeof open>): Promise<Served> {
  const served = await open(...given);
  onTestFinished(() => served.app.close());
  return served;
}

/** Starts an application with an orchestrator on a free port of this machine. */
export async function open(
  options: OrchestratorModuleOptions & OrchestratorModuleShape,
  { metadata = {}, prepare, path = '/api/operations' }: ServeOptions = {},
): Promise<Served> {
  const imports = [OrchestratorModule.forRoot({ ...QUIET, ...options }), ...(metadata.imports ?? [])];
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: Root, ...metadata, imports },
    new FastifyAdapter({ forceCloseConnections: true, bodyLimit: 2 * 1024 * 1024 }),
    { abortOnError: false, logger: false },
  );
  prepare?.(app);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  const ask = (at: string, init?: RequestInit) => fetch(url + at, init);
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    ask(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  return {
    app,
    url,
    ask,
    post,
    client: createClient({ baseUrl: url, path, retries: 0 }),
    host: app.get(OrchestratorHost),
  };
}

/** Options for quick tests without logs. */
export const QUIET = {
  logger: silentLogger,
  gracePeriodMs: 1_000,
  tries: { backoffBaseMs: 10, backoffJitter: 0 },
} as const;

/** Expects a complete problem with this code and status, and returns it. */
export async function expectProblem(
  response: Response,
  code: string,
  status: number,
  detail: string | RegExp = /./,
): Promise<Record<string, unknown>> {
  const problem = (await response.json()) as Record<string, unknown>;
  expect(problem).toMatchObject({
    type: `urn:millrace:error:${code}`,
    title: expect.stringMatching(/^[A-Z][a-z ]+$/),
    status,
    detail: expect.stringMatching(detail),
    instance: expect.stringMatching(/^\//),
    code,
    retryable: expect.any(Boolean),
  });
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  return problem;
}

/** Work that ends only at an abort. */
export const endless = inline(
  (_, { signal }) =>
    new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
);
