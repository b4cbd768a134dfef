import { ProblemError } from '@millrace/contract/server-client';
import { ManualClock } from '@millrace/testkit';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import type { Asking } from '../../src/cli/ask/asking.js';
import { Patience } from '../../src/cli/ask/patience.js';
import { Printer } from '../../src/cli/show/printer.js';
import { capturedSurroundings } from './captured.js';

const AWAY = new TypeError('fetch failed');
const problem = (status: number) =>
  new ProblemError({ type: '', title: '', status, detail: '', code: 'SOME', retryable: false });

function patient(timeoutMs?: number) {
  const clock = new ManualClock();
  const interrupt = new AbortController();
  const { surroundings, err } = capturedSurroundings();
  const asking = {
    url: 'http://there',
    signal: interrupt.signal,
    printer: new Printer(surroundings),
    surroundings,
    command: new Command(),
  } as unknown as Asking;
  const patience = new Patience(asking, { clock, timeoutMs });
  /** Asks while the server answers so, one after the other; the last answer stays. */
  const ask = (...answers: unknown[]) => {
    let asked = 0;
    const answered = patience.ask(async () => {
      const answer = answers[Math.min(asked++, answers.length - 1)];
      if (answer instanceof Error) throw answer;
      return answer;
    });
    answered.catch(() => {});
    return { answered, asked: () => asked };
  };
  return { clock, interrupt, err, patience, ask };
}

describe('patience with a server', () => {
  it('is none before the first answer, and none with a refusal', async () => {
    const { ask, err } = patient();
    await expect(ask(AWAY).answered).rejects.toBe(AWAY);
    expect(await ask('here').answered).toBe('here');
    await expect(ask(problem(404)).answered).rejects.toMatchObject({ status: 404 });
    expect(err()).toBe('');
  });

  it('waits for one that goes away or is about to stop, and says so once', async () => {
    const { ask, clock, err } = patient();
    await ask(1).answered;
    const { answered, asked } = ask(AWAY, problem(503), new DOMException('late', 'TimeoutError'), 2);
    await clock.advance(1_500);
    expect(await answered).toBe(2);
    expect(asked()).toBe(4);
    expect(err()).toBe('The server at http://there does not answer; waiting for it.\nIt answers again.\n');
  });

  it.each([429, 502, 503, 504])('waits for one that answers %i', async (status) => {
    const { ask, clock } = patient();
    await ask(1).answered;
    const { answered } = ask(problem(status), 2);
    await clock.advance(500);
    expect(await answered).toBe(2);
  });

  it('ends after a minute, when the time is up, or with an interruption', async () => {
    const long = patient();
    await long.ask(1).answered;
    const given = long.ask(AWAY);
    await long.clock.advance(59_000);
    const before = given.asked();
    await long.clock.advance(2_000);
    await expect(given.answered).rejects.toBe(AWAY);
    expect(given.asked()).toBeGreaterThan(before);

    const short = patient(2_000);
    await short.ask(1).answered;
    const late = short.ask(AWAY);
    await short.clock.advance(2_000);
    await expect(late.answered).rejects.toBe(AWAY);
    expect(short.patience.isOver).toBe(true);

    const stopped = patient();
    await stopped.ask(1).answered;
    const waiting = stopped.ask(AWAY);
    stopped.interrupt.abort(new Error('interrupted'));
    await expect(waiting.answered).rejects.toThrow('interrupted');
  });
});
