import { NUMBER_NAMES_MAX } from '../aggregation.js';
import type { Outcome } from '../lease.js';
import { Gathered } from './gathered.js';
import type { GroupRecord, JobRecord } from './records.js';
import type { MemoryState } from './state.js';

/**
 * Keeps what a job that has just ended leaves for its group, before the end of the job can end the round.
 * @param state - of the store.
 * @param job - which ends now.
 * @param outcome - how.
 */
export function gather(
  state: MemoryState,
  job: JobRecord,
  outcome: Extract<Outcome, { kind: 'success' | 'failure' }>,
): void {
  const { group, processorType } = job;
  if (outcome.aggregate) {
    const { types } = gatheredOf(group);
    if (!types.includes(processorType)) types.push(processorType);
  }
  if (outcome.kind === 'failure') return;
  if (outcome.dropped) gatheredOf(group).dropped += 1;
  else if (outcome.aggregate || outcome.data !== undefined) keepData(state, job, outcome.data);
  for (const [name, value] of Object.entries(outcome.numbers ?? {})) keepNumber(group, name, value);
}

/**
 * Forgets the stored results with the records of their jobs; how many they were stays known.
 * @param group - past the retention of its jobs.
 */
export function forgetResults({ gathered }: GroupRecord): void {
  if (!gathered) return;
  gathered.dropped += gathered.results.length;
  gathered.results = [];
  gathered.bytes = 0;
}

function gatheredOf(group: GroupRecord): Gathered {
  group.gathered ??= new Gathered();
  return group.gathered;
}

function keepData(
  state: MemoryState,
  { group, id, processorType }: JobRecord,
  data: string | undefined,
): void {
  const gathered = gatheredOf(group);
  const bytes = data === undefined ? 0 : Buffer.byteLength(data);
  if (gathered.bytes + bytes > state.config.limits.groupResultBytesMax) {
    gathered.dropped += 1;
    return;
  }
  gathered.bytes += bytes;
  gathered.results.push({ jobId: id, processorType, ...(data !== undefined && { data }) });
}

function keepNumber(group: GroupRecord, name: string, value: number): void {
  const { numbers } = gatheredOf(group);
  const known = numbers.get(name);
  if (known) {
    known.count += 1;
    known.sum += value;
    known.min = Math.min(known.min, value);
    known.max = Math.max(known.max, value);
  } else if (numbers.size < NUMBER_NAMES_MAX)
    numbers.set(name, { count: 1, sum: value, min: value, max: value });
}
