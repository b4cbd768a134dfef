import { bytesBeyond } from '@millrace/foundation';
import { cutText } from '../../../rules/signature.js';
import { type DropReason, encodeValue, type RecentFacts } from '../format/side-values.js';
import type { JobOutcome } from '../state/change.js';
import { idOf } from '../state/position.js';
import type { Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import type { JobReport } from './report.js';

/** Part of a payload and of a result that is kept. */
const TEXT_BYTES_MAX = 8_192;
const MESSAGE_CHARACTERS_MAX = 500;
/** Keys of one second are so far apart from those of the next. */
const KEYS_PER_SECOND = 100_000;

/** Keeps a finished job as a recent one, as long as this second has room. */
export function keepRecent(
  state: EngineState,
  job: Job,
  outcome: JobOutcome,
  report: JobReport,
  dropped: DropReason | undefined,
): void {
  const { recentMax, recentPerSecond } = state.config;
  const { body } = job;
  if (recentMax === 0 || !body) return;
  const { recent, nowMs } = state;
  const second = Math.floor(nowMs / 1000);
  if (recent.second !== second) {
    recent.second = second;
    recent.jobs = 0;
  } else if (recent.jobs >= recentPerSecond) return;
  recent.jobs += 1;
  const payload = report.isPrivate ? undefined : body.payload;
  const data = report.isPrivate ? undefined : report.result?.data;
  state.writes.add({
    kind: 'recent',
    key: second * KEYS_PER_SECOND + recent.jobs,
    keep: recentMax,
    bytes: encodeValue({
      facts: factsOf(state, job, outcome, report, { payload, data, dropped }),
      payload: payload === undefined ? undefined : cutToBytes(payload),
      data: data === undefined ? undefined : cutToBytes(data),
    }),
  });
}

function factsOf(
  { nowMs }: EngineState,
  job: Job,
  outcome: JobOutcome,
  { durationMs, error }: JobReport,
  {
    payload,
    data,
    dropped,
  }: { payload: string | undefined; data: string | undefined; dropped: DropReason | undefined },
): RecentFacts {
  const { group, position, body, attempt, readyMs, startedMs } = job;
  return {
    groupId: group.id,
    tenantId: group.tenant.id,
    jobId: idOf(body?.id ?? '', position),
    position,
    type: body?.type ?? '',
    outcome,
    attempts: attempt,
    readyMs,
    startedMs,
    endedMs: nowMs,
    durationMs: durationMs ?? 0,
    code: error?.code,
    message: error?.message === undefined ? undefined : cutText(error.message, MESSAGE_CHARACTERS_MAX),
    payloadBytes: payload === undefined ? undefined : bytesBeyond(payload, TEXT_BYTES_MAX),
    dataBytes: data === undefined ? undefined : bytesBeyond(data, TEXT_BYTES_MAX),
    dropped,
  };
}

const encoder = new TextEncoder();

/** Returns the beginning of a text, without half a character at its end. */
function cutToBytes(text: string): string {
  if (bytesBeyond(text, TEXT_BYTES_MAX) === undefined) return text;
  return text.slice(0, encoder.encodeInto(text, new Uint8Array(TEXT_BYTES_MAX)).read);
}
