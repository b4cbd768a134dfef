import { randomUUID } from 'node:crypto';
import type { OperationsClient } from '@millrace/contract/client';
import { Command } from 'commander';
import { type Asking, asksServer, nextCommand } from '../../ask/asking.js';
import { givenPayload, type PayloadOptions, payloadOptions } from '../../ask/given-json.js';
import { positiveNumber } from '../../ask/options.js';
import { moment } from '../../show/amounts.js';
import { type End, EXIT, type Surroundings } from '../../surroundings.js';
import { outcomeFields } from '../ops/show-operation.js';
import { waitForOperation } from '../ops/wait-for-operation.js';

interface OpOptions extends PayloadOptions {
  readonly command: string;
  readonly bizKey?: string;
  readonly idemKey?: string;
  readonly budget?: number;
  readonly wait?: true;
}

/** `DOMAIN.EVENT`; what names may hold, the server checks. */
const COMMAND = /^([^.]+)\.([^.]+)$/;
/** `millrace submit op`. */
export function opCommand(surroundings: Surroundings, end: End): Command {
  const op = new Command('op')
    .description('Submit a command to the front door. The exit code is 1 when its work has failed.')
    .argument('<command>', 'DOMAIN.EVENT_TYPE, as a route of the application names it.')
    .option('--biz-key <key>', 'What it is about, in the words of the business (random).')
    .option('--idem-key <key>', 'The same for every repetition of one request (random).')
    .option('--budget <ms>', 'The longest wait for the outcome; then the work goes on.', positiveNumber)
    .option('--wait', 'Wait for the end, however long it takes.');
  return asksServer<OpOptions>(payloadOptions(op), surroundings, end, submitOp);
}

async function submitOp(asking: Asking, options: OpOptions): Promise<number> {
  const { client, signal } = asking;
  const [, domain, eventType] = COMMAND.exec(options.command) ?? [];
  if (domain === undefined || eventType === undefined)
    return asking.command.error(
      `error: '${options.command}' must be DOMAIN.EVENT_TYPE, or use submit group or submit batch`,
    );
  const { bizKey = randomUUID(), idemKey, budget: timeBudgetMs } = options;
  const payload = await givenPayload(asking, options);
  const answer = await client.operations.submit(
    { domain, eventType, bizKey, idemKey, payload },
    { timeBudgetMs, signal },
  );
  if (options.wait) return waitForOperation(asking, answer.opId);
  asking.answer(answer, () => showAnswer(asking, answer, { command: options.command, key: bizKey }));
  return answer.status === 'FAILED' ? EXIT.FAILED : EXIT.DONE;
}

type Answer = Awaited<ReturnType<OperationsClient['submit']>>;

/** The names of the fields are those of `ops show`. */
function showAnswer(
  asking: Asking,
  answer: Answer,
  given: { readonly command: string; readonly key: string },
): void {
  const { printer, url } = asking;
  const { opId: operation, status } = answer;
  if (status === 'IN_PROGRESS') {
    const { statusUrl, estimatedCompletionTime } = answer;
    const expected = moment(estimatedCompletionTime);
    const where = new URL(statusUrl, url).href;
    printer.fields({ operation, ...given, state: status, 'status URL': where, expected });
    printer.remark(`To wait for it: ${nextCommand(asking, 'ops', 'wait', operation)}`);
    return;
  }
  printer.fields({ operation, ...given, state: status, ...outcomeFields(status, answer.outcome) });
}
