import { randomUUID } from 'node:crypto';
import { type AnswerOf, ProblemError } from '@millrace/contract/server-client';
import { toWorkError } from '@millrace/foundation';
import type { Asking } from '../../ask/asking.js';
import { nextCommand } from '../../ask/next-command.js';
import { AdvisedError } from '../../failure.js';
import { amount } from '../../show/amounts.js';
import { ProgressBars } from '../../show/progress-bars.js';
import type { JobLines } from './job-lines.js';

/** What is sent. */
export interface SentGroup {
  readonly group: { readonly id: string; readonly tenant?: string | undefined };
  readonly lines: JobLines;
  /** Whether these are all jobs. */
  readonly isSealed: boolean;
  /** Of the request; random unless given. */
  readonly idemKey: string | undefined;
}

const BYTES_PER_MB = 1_000_000;

/**
 * Sends a group and its jobs while they are read, with a bar where somebody can see it.
 * @param asking - see Asking. The command ends with a usage error when the jobs cannot be read.
 * @param sent - see SentGroup.
 * @throws AdvisedError with how to go on; ProblemError when nothing was stored.
 */
export async function sendGroup(asking: Asking, sent: SentGroup): Promise<AnswerOf<'submitGroup'>> {
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
    throw advice.length > 0 ? new AdvisedError(error, advice) : error;
  }
}

/** The group, then the lines as they are read. */
async function* piecesOf(
  { group, lines }: SentGroup,
  onSent: (bytes: number) => void,
  onFault: (error: unknown) => void,
): AsyncGenerator<string | Uint8Array, void, undefined> {
  let bytes = 0;
  yield `${JSON.stringify(group)}\n`;
  try {
    for await (const piece of lines.pieces) {
      yield piece;
      bytes += Buffer.byteLength(piece);
      onSent(bytes);
    }
  } catch (error) {
    onFault(error);
    throw error;
  }
}

function showSent(bars: ProgressBars, { name, bytes: total }: JobLines, bytes: number): void {
  if (total === undefined || total === 0) return;
  const note = `${amount(bytes / BYTES_PER_MB)} of ${amount(total / BYTES_PER_MB)} MB sent`;
  bars.set('upload', { label: name, done: Math.min(bytes, total), total, note });
}

/** The first line of what is sent is the group: the file begins with the second. */
const LINE = /^Line (\d+) /;

/** How to go on; nothing where nothing was stored. */
function adviceOn(error: unknown, asking: Asking, sent: SentGroup, idemKey: string): string[] {
  const { group, lines } = sent;
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
  if (error.code !== 'LINE_INVALID') return error.retryable ? [again] : [];
  const line = Number(LINE.exec(error.problem.detail)?.[1] ?? 0);
  // The group is made of the options: they are wrong then, and nothing is stored.
  return line > 1 ? [`The group was line 1: correct line ${line - 1} of ${lines.name}.`, again] : [];
}
