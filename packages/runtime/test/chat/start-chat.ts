import { seededRng } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { onTestFinished } from 'vitest';
import { ChatService, type ChatServiceDependencies } from '../../src/chat/chat-service.js';
import type { ChatTurn } from '../../src/chat/ports.js';
import { Steps } from '../lanes/tools.js';

/** Answers `message` with `re: message`, in two tokens, when told; remembers what it was asked. */
export async function startChat(given: Partial<ChatServiceDependencies> = {}, options = {}) {
  const clock = new ManualClock();
  const steps = new Steps();
  const turns: ChatTurn[] = [];
  const runtime = {
    async *processEnqueuedTurn(turn: ChatTurn) {
      turns.push(turn);
      yield 're: ';
      await steps.run(turn.message);
      yield turn.message;
    },
  };
  const chat = new ChatService({ runtime, clock, rng: seededRng(3), ...given }, options);
  await chat.start();
  onTestFinished(async () => {
    const stopped = chat.stop();
    await clock.advance(60_000);
    await stopped;
  });
  return { chat, clock, steps, turns, settle: () => clock.advance(0) };
}
