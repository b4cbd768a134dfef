import type {
  AcceptedResponse,
  CancelResponse,
  CompletedResponse,
  OperationBody,
  OperationPage,
} from '@millrace/contract';
import {
  Body,
  Controller,
  Delete,
  Get,
  Inject,
  Param,
  Post,
  Query,
  Req,
  Res,
  StreamableFile,
  type Type,
  UseFilters,
} from '@nestjs/common';
import { applyPreference, parsePrefer, retryAfterSeconds } from '../rules/prefer.js';
import { isTerminal } from '../states.js';
import { acceptedAnswer, cancelAnswer, completedAnswer, operationBody } from './bodies.js';
import { goneSignal, type HttpReply, type HttpRequest, headerOf, pathOf } from './http.js';
import { OrchestratorHost } from './orchestrator-host.js';
import { ProblemFilter } from './problem-filter.js';
import { readList, readOpId, readSubmit, readTraceparent, readWait } from './read-requests.js';

/** Operations over HTTP: see ROUTES of `@millrace/contract`. */
export class OperationsController {
  readonly #host: OrchestratorHost;

  constructor(host: OrchestratorHost) {
    this.#host = host;
  }

  /** `POST`: 200 with the outcome within the budget, else 202 with the status URL. */
  async submit(
    body: unknown,
    request: HttpRequest,
    reply: HttpReply,
  ): Promise<CompletedResponse | AcceptedResponse> {
    const { orchestrator, operations, timeBudget } = this.#host;
    const { tenant } = await this.#host.scopeOf(request);
    const { command, timeBudgetMs } = readSubmit(body, headerOf(request, 'idempotency-key'));
    const preferred = applyPreference(parsePrefer(headerOf(request, 'prefer')), timeBudget);
    const traceparent = readTraceparent(headerOf(request, 'traceparent'));
    const budgetMs = timeBudgetMs ?? preferred.budgetMs;
    const { opId, responseBodyOrNull, statusUrlOrNull } = await orchestrator.submit(command, budgetMs, {
      tenant,
      traceparent,
    });
    const applied = preferred.applied(responseBodyOrNull ? 'outcome' : 'status-url');
    if (timeBudgetMs === undefined && applied !== undefined) reply.header('preference-applied', applied);
    reply.header('cache-control', 'no-store');
    reply.status(responseBodyOrNull ? 200 : 202);
    if (responseBodyOrNull) return completedAnswer(opId, responseBodyOrNull);
    const estimate = operations.estimate(command);
    const statusUrl = this.#host.statusUrlOf(opId, pathOf(request), statusUrlOrNull);
    reply.header('location', statusUrl);
    reply.header('retry-after', retryAfterSeconds(estimate.retryAfterMs));
    return acceptedAnswer(opId, statusUrl, estimate);
  }

  /** `GET`: a page of operations, newest first. */
  async list(query: unknown, request: HttpRequest): Promise<OperationPage> {
    const scope = await this.#host.scopeOf(request);
    const { filter, page } = readList(query, scope);
    const { items, cursor } = await this.#host.operations.list(filter, page);
    return { items: items.map(operationBody), cursor: cursor ?? null };
  }

  /** `GET :opId/status`: the operation. With `?wait=` after its end, or after that time. */
  async status(opId: string, query: unknown, request: HttpRequest, reply: HttpReply): Promise<OperationBody> {
    const scope = await this.#host.scopeOf(request);
    const waitMs = readWait(query);
    const id = readOpId(opId);
    const { operations } = this.#host;
    const signal = waitMs > 0 ? goneSignal(reply) : undefined;
    const operation = await operations.waitForEnd(id, waitMs, { ...scope, signal });
    reply.header('cache-control', 'no-store');
    if (!isTerminal(operation.state))
      reply.header('retry-after', retryAfterSeconds(operations.estimate(operation).retryAfterMs));
    return operationBody(operation);
  }

  /** `GET :opId/events`: start, changes and end of the operation as server-sent events. */
  async events(opId: string, request: HttpRequest, reply: HttpReply): Promise<StreamableFile> {
    const scope = await this.#host.scopeOf(request);
    const stream = await this.#host.openEvents(readOpId(opId), { ...scope, signal: goneSignal(reply) });
    reply.header('cache-control', 'no-cache, no-transform');
    // nginx would keep events until its buffer is full.
    reply.header('x-accel-buffering', 'no');
    return new StreamableFile(stream, { type: 'text/event-stream' });
  }

  /** `DELETE :opId`: ends the operation as FAILED `CANCELLED`. */
  async cancel(opId: string, request: HttpRequest): Promise<CancelResponse> {
    const scope = await this.#host.scopeOf(request);
    return cancelAnswer(await this.#host.operations.cancel(readOpId(opId), scope));
  }
}

/**
 * Makes the controller for a path.
 * @param path - without slashes at its ends, such as `api/operations`.
 */
export function operationsControllerAt(path: string): Type<OperationsController> {
  // A class of its own, because Nest keeps the path on the class.
  class OperationsControllerAtPath extends OperationsController {}
  Controller(path)(OperationsControllerAtPath);
  return OperationsControllerAtPath;
}

// Called as functions: this source compiles under either decorator system.
Inject(OrchestratorHost)(OperationsController, undefined, 0);
UseFilters(ProblemFilter)(OperationsController);
const { prototype } = OperationsController;
const route = (
  method: keyof OperationsController,
  decorate: MethodDecorator,
  ...parameters: ParameterDecorator[]
) => {
  decorate(prototype, method, Object.getOwnPropertyDescriptor(prototype, method) as PropertyDescriptor);
  for (const [index, parameter] of parameters.entries()) parameter(prototype, method, index);
};
const reply = () => Res({ passthrough: true });
route('submit', Post(), Body(), Req(), reply());
route('list', Get(), Query(), Req());
route('status', Get(':opId/status'), Param('opId'), Query(), Req(), reply());
route('events', Get(':opId/events'), Param('opId'), Req(), reply());
route('cancel', Delete(':opId'), Param('opId'), Req());
