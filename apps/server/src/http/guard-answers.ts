import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@millrace/foundation';
import { BadRequestException } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { ServerConfig } from '../config/model.js';
import { routeOf } from './routes.js';

/** How long answers are kept for whom they are for. */
export interface AnswerPatience {
  readonly limits: Pick<ServerConfig['limits'], 'streamStallMs'>;
  readonly clock: Clock;
}

/**
 * Requests of one connection that wait for their answers, sent without waiting for the one before. All answers are made at once and held
 * until it is their turn: 16 KB of requests would be 80 MB of answers.
 */
const PIPELINED_MAX = 32;

/**
 * What holds for every answer: nobody keeps a copy unless its route says so, a client that does not take it is dropped, and none is owed too
 * many.
 */
export function guardAnswers(fastify: FastifyInstance, { limits, clock }: AnswerPatience): void {
  const owed = new WeakMap<Socket, Set<ServerResponse>>();
  fastify.addHook('onRequest', async ({ raw: { socket } }, { raw: answer }) => {
    const answers = owed.get(socket) ?? answersOwedTo(socket);
    owed.set(socket, answers.add(answer));
    answer.once('close', () => answers.delete(answer));
    if (answers.size <= PIPELINED_MAX) return;
    socket.destroy();
    throw new BadRequestException('Too many requests wait for their answers on this connection');
  });
  fastify.addHook('onSend', async (request, reply) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    // Streams are looked after by Streams: they may have nothing to say for long.
    if (!routeOf(request.method, request.routeOptions.url)?.streams)
      dropStalled(request.raw, reply.raw, limits.streamStallMs, clock);
  });
}

/**
 * Node tells only the answer that is being sent of the end of its connection. All those who wait for the end of another, to count it or to free
 * what it holds, would wait for ever.
 */
function answersOwedTo(socket: Socket): Set<ServerResponse> {
  const answers = new Set<ServerResponse>();
  socket.once('close', () => {
    for (const answer of answers) if (!answer.socket) answer.destroy().emit('close');
  });
  return answers;
}

/** Not by the timeout of the socket: a client that says a word now and then would keep it open, and never read. */
function dropStalled({ socket }: IncomingMessage, answer: ServerResponse, ms: number, clock: Clock): void {
  const taken = () => socket.bytesWritten - socket.writableLength;
  let seen = taken();
  const look = () => {
    const now = taken();
    // One that has no socket waits for the answer before it.
    if (answer.socket && now === seen) socket.destroy();
    seen = now;
    if (!socket.destroyed) cancel = clock.setTimer(ms, look, { unref: true });
  };
  let cancel = clock.setTimer(ms, look, { unref: true });
  answer.once('close', () => cancel());
}
