import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { MillraceError } from '@millrace/foundation';
import type { CommandInput, Operation, OrchestratorService } from '@millrace/orchestrator';
import { OPERATIONS_PATH } from './settings.js';

/** What a caller sends. */
export interface SubmitBody {
  readonly command: CommandInput;
  readonly timeBudgetMs: number;
}

/** What a caller is answered; which fields there are depends on the status. */
export interface DoorAnswer {
  readonly opId?: string;
  readonly state?: string;
  /** The outcome of an operation that has ended. */
  readonly outcome?: unknown;
  readonly statusUrl?: string;
  /** Of an error. */
  readonly code?: string;
  readonly message?: string;
}

/** One long poll at the longest. */
const WAIT_MAX_MS = 2000;

/**
 * Lets callers in over HTTP: as little as it takes to submit, ask and cancel from another process. The controller of the package would load a
 * framework, which costs as much as everything else together whenever a killed process is replaced.
 * @returns the server, listening at a free port of this machine.
 */
export async function openDoor(orchestrator: OrchestratorService): Promise<Server> {
  const server = createServer((request, response) => {
    answerTo(orchestrator, request).then(
      ([status, body]) => reply(response, status, body),
      (error: unknown) => {
        const { code, status } =
          error instanceof MillraceError ? error : { code: 'INTERNAL', status: 500 as number };
        reply(response, status, { code, message: String(error).slice(0, 300) });
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** The port of a server. */
export const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function answerTo(
  orchestrator: OrchestratorService,
  request: IncomingMessage,
): Promise<readonly [number, DoorAnswer]> {
  const { operations } = orchestrator;
  const { pathname } = new URL(request.url ?? '/', 'http://door');
  const opId = pathname.slice(OPERATIONS_PATH.length + 1).split('/')[0] ?? '';
  if (request.method === 'POST') {
    const { command, timeBudgetMs } = (await json(request)) as SubmitBody;
    const handle = await orchestrator.submit(command, timeBudgetMs);
    return handle.statusUrlOrNull === null
      ? [200, { opId: handle.opId, outcome: handle.responseBodyOrNull }]
      : [202, { opId: handle.opId, statusUrl: handle.statusUrlOrNull }];
  }
  if (request.method === 'DELETE') return [200, shown(await operations.cancel(opId))];
  return [200, shown(await operations.waitForEnd(opId, WAIT_MAX_MS))];
}

const shown = ({ opId, state, outcome, endedAt }: Operation): DoorAnswer => ({
  opId,
  state,
  ...(endedAt && { outcome }),
});

function reply(response: ServerResponse, status: number, body: DoorAnswer): void {
  if (response.writableEnded || response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
