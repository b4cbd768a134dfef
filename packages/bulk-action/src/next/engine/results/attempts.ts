import type { GateName } from '../../../rules/explain.js';
import { cutText } from '../../../rules/signature.js';
import { type AttemptFacts, encodeValue } from '../format/side-values.js';
import type { Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import type { AttemptError } from './report.js';

/** Attempts that are kept of a job. */
const ATTEMPTS_MAX = 5;
const MESSAGE_CHARACTERS_MAX = 500;
const CODE_CHARACTERS_MAX = 100;

/**
 * Writes down how an attempt ended that is about to leave its slot. The last five of a job are kept, each in a slot of its own. A
 * success at the first attempt is not written: its line has all there is to know.
 */
export function keepAttempt(
  state: EngineState,
  job: Job,
  durationMs: number,
  error: AttemptError | undefined,
): void {
  const { group, position, attempt } = job;
  if (!error && attempt === 1) return;
  const slot = attempt % ATTEMPTS_MAX;
  state.writes.add({
    kind: 'attempt',
    groupId: group.id,
    position,
    slot,
    bytes: boundedAttempt(attemptOf(state, job, durationMs, error), state.config.attemptBytesMax),
  });
  job.gate = undefined;
  job.gateMs = 0;
}

const attemptOf = (
  state: EngineState,
  { attempt, readyMs, startedMs, instanceId, gate, gateMs }: Job,
  durationMs: number,
  error: AttemptError | undefined,
): AttemptFacts => ({
  attempt,
  readyMs,
  startedMs,
  endedMs: state.nowMs,
  durationMs,
  instanceId,
  gate,
  gateMs: gate === undefined ? undefined : gateMs,
  code: error && cutText(error.code, CODE_CHARACTERS_MAX),
  message: error?.message === undefined ? undefined : cutText(error.message, MESSAGE_CHARACTERS_MAX),
  errorClass: error?.errorClass === undefined ? undefined : cutText(error.errorClass, CODE_CHARACTERS_MAX),
});

/** Each attempt has its part of what may be kept of a job: a message that takes more is cut. */
function boundedAttempt(facts: AttemptFacts, jobBytesMax: number): Uint8Array {
  const bytes = encodeValue({ facts });
  const most = Math.floor(jobBytesMax / ATTEMPTS_MAX);
  if (bytes.length <= most || !facts.message) return bytes;
  const { message } = facts;
  const messageBytes = Buffer.byteLength(JSON.stringify(message));
  const part = Math.max(0, 1 - (bytes.length - most) / messageBytes);
  const characters = Math.min(message.length - 1, Math.floor(message.length * part));
  return boundedAttempt({ ...facts, message: cutText(message, characters) }, jobBytesMax);
}

/** Notes what holds a job before its turn. The gate that held it longest is part of its attempt. */
export function noteGate(job: Job | undefined, gate: GateName, heldUs: number): void {
  const heldMs = Math.ceil(heldUs / 1000);
  if (!job || heldMs <= job.gateMs) return;
  job.gate = gate;
  job.gateMs = heldMs;
}
