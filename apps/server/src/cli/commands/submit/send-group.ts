import { randomUUID } from 'node:crypto';
import { ProblemError, type ResponseOf } from '@millrace/contract/server-client';
import { toWorkError } from '@millrace/foundation';
import { type Asking, nextCommand } from '../../ask/asking.js';
import { AdvisedError } from '../../failure.js';
import { amount, pluralize } from '../../show/amounts.js';
import { ProgressBars } from '../../show/progress-bars.js';
import type { HandedTypes } from './handed-types.js';
import type { JobLines } from './job-lines.js';

/** What is sent. */
export interface SentGroup {
  readonly group: { readonly id: string; readonly tenant?: string | undefined };
  readonly lines: JobLines;
  /** Learns which processors they name. */
  readonly types: HandedTypes;
  /** Whether these are all jobs. */
  readonly isSealed: boolean;
  /** Of the request; random unless given. */
  readonly idemKey: string | undefined;
}

const BYTES_PER_MB = 1_000_000;
/** Less is sent before anybody has read the bar. */
const BAR_BYTES_MIN = BYTES_PER_MB;

/**
 * Sends a group and its jobs while it reads them, with a progress bar on a terminal. Ends the command with a usage error
 * if the jobs cannot be read.
 * @throws AdvisedError with the next step; ProblemError if nothing was stored.
 */
export async function sendGroup(asking: Asking, sent: SentGroup): Promise<ResponseOf<'submitGroup'>> {
  const { client, signal, command, printer } = asking;
  const { lines, isSealed, idemKey = randomUUID() } = sent;
  let fault: unknown;
  const onFault = (error: unknown) => {
    fault = error;
  };
  try {
    using bars = new ProgressBars(asking.surroundings);
    const query = isSealed ? {} : { seal: 'false' as const };
    const pieces = piecesOf(sent, (bytes) => showSent(bars, lines, bytes), onFault);
    return await client.upload('submitGroup', { query }, pieces, { idempotencyKey: idemKey, signal });
  } catch (error) {
    const advice = adviceOn(error, asking, sent, idemKey);
    if (signal.aborted) for (const line of advice) printer.remark(line);
    // `fetch` says only that it has failed, be it of the connection or of what it was to send.
    else if (fault !== undefined)
      command.error(`error: ${lines.name} cannot be read: ${toWorkError(fault).message}`);
    const sentence = lineSentence(error, sent);
    throw advice.length > 0 || sentence !== undefined ? new AdvisedError(error, advice, sentence) : error;
  }
}

/** The group, then the lines as they are read. */
async function* piecesOf(
  { group, lines, types }: SentGroup,
  onSent: (bytes: number) => void,
  onFault: (error: unknown) => void,
): AsyncGenerator<string | Uint8Array, void, undefined> {
  let bytes = 0;
  yield `${JSON.stringify(group)}\n`;
  try {
    for await (const piece of lines.pieces) {
      yield piece;
      types.take(piece);
      bytes += Buffer.byteLength(piece);
      onSent(bytes);
    }
  } catch (error) {
    onFault(error);
    throw error;
  }
}

function showSent(bars: ProgressBars, { name, bytes: total }: JobLines, bytes: number): void {
  if (total === undefined || total < BAR_BYTES_MIN) return;
  const note = `${amount(bytes / BYTES_PER_MB)} of ${amount(total / BYTES_PER_MB)} MB sent`;
  bars.set('upload', { label: name, done: Math.min(bytes, total), total, note });
}

/** What is wrong with a line, in the numbers of the file: of what is sent the first line is the group, which is made of the options. */
function lineSentence(error: unknown, { lines }: SentGroup): string | undefined {
  const line = error instanceof ProblemError ? error.problem.line : undefined;
  if (!line) return undefined;
  const { number, reason, stored } = line;
  if (number === 1) return `The group cannot be made: ${reason} (LINE_INVALID)`;
  const kept =
    stored === 0
      ? 'No job is stored.'
      : `${pluralize(stored, 'job')} before it ${stored === 1 ? 'is' : 'are'} stored.`;
  return `${lines.where(number - 1)}: ${reason}. ${kept}`;
}

/** How to go on; nothing where nothing was stored. */
function adviceOn(error: unknown, asking: Asking, sent: SentGroup, idemKey: string): string[] {
  const { group } = sent;
  const again =
    sent.idemKey === undefined
      ? `Run the same command with --idem-key ${idemKey}: jobs that are stored are not stored again.`
      : 'Run the same command again, with the same --idem-key: jobs that are stored are not stored again.';
  if (!(error instanceof ProblemError)) return [again];
  if (error.code === 'SEAL_TOTAL_MISMATCH') {
    const id = group.tenant === undefined ? group.id : `${group.tenant}/${group.id}`;
    return [
      `The jobs are stored. To seal it with all that it has: ${nextCommand(asking, 'groups', 'seal', id)}`,
    ];
  }
  if (NEEDS_ANOTHER.includes(error.code))
    return [`For example: ${nextCommand(asking, 'submit', 'group', anotherId(group.id))} …`];
  const { line } = error.problem;
  // Without the group nothing is stored: there is nothing to go on with.
  if (line) return line.number > 1 ? [again] : [];
  return error.retryable ? [again] : [];
}

/** The group that is there does not take these jobs. */
const NEEDS_ANOTHER = ['GROUP_SEALED', 'GROUP_CONFLICT'];

/** `hello` → `hello-2` → `hello-3`. */
function anotherId(id: string): string {
  const [, name = id, number = '1'] = /^(.+)-(\d{1,6})$/.exec(id) ?? [];
  return `${name}-${Number(number) + 1}`;
}
