import type { InstanceBody } from '@millrace/contract';
import type { Tone } from './tones.js';

/** What all live instances have and do together. */
export interface FleetSum {
  readonly instances: number;
  readonly workers: number;
  readonly busyWorkers: number;
  readonly taskRoom: number;
  readonly tasks: number;
  readonly requests: number;
  readonly streams: number;
  /** Each once; more than one while a deployment runs, or when it stopped halfway. */
  readonly versions: readonly string[];
}

/** What all live instances have and do together; those that are gone do nothing. */
export function fleetSum(instances: readonly InstanceBody[]): FleetSum {
  const live = instances.filter(({ alive }) => alive);
  const sum = (of: (instance: InstanceBody) => number | null) =>
    live.reduce((all, instance) => all + (of(instance) ?? 0), 0);
  return {
    instances: live.length,
    workers: sum(({ workerCount }) => workerCount),
    busyWorkers: sum(({ busy }) => busy.jobs),
    taskRoom: sum(({ outboxConcurrency }) => outboxConcurrency),
    tasks: sum(({ busy }) => busy.tasks),
    requests: sum(({ busy }) => busy.requests),
    streams: sum(({ busy }) => busy.streams),
    versions: [...new Set(live.map(({ version }) => version))],
  };
}

/** What an instance is called among people. */
export const instanceName = ({ host, pid }: Pick<InstanceBody, 'host' | 'pid'>): string => `${host}:${pid}`;

/** What an instance does, in a word. */
export interface InstanceState {
  readonly status: 'ALIVE' | 'STOPPING' | 'STOPPED' | 'GONE';
  readonly tone: Tone;
}

/**
 * What an instance does.
 * @param instance - which. One that was about to stop when it was last heard of has stopped as it should; any other has just gone.
 */
export function instanceState({ alive, stopping }: Pick<InstanceBody, 'alive' | 'stopping'>): InstanceState {
  if (alive) return stopping ? { status: 'STOPPING', tone: 'hold' } : { status: 'ALIVE', tone: 'ok' };
  return stopping ? { status: 'STOPPED', tone: 'wait' } : { status: 'GONE', tone: 'fail' };
}

/** Whether an instance has not got the workers yet that somebody wants of it. */
export const isScaling = ({
  workerCount,
  wantedWorkers,
}: Pick<InstanceBody, 'workerCount' | 'wantedWorkers'>): boolean =>
  workerCount !== null && wantedWorkers !== null && workerCount !== wantedWorkers;

/** From these parts of the limit on somebody should look, and then hurry: beyond the limit a process ends. */
const HEAP_HIGH = 0.8;
const HEAP_FULL = 0.92;

/** What the heap of an instance means. */
export function heapTone({
  heapUsedBytes,
  heapLimitBytes,
}: Pick<NonNullable<InstanceBody['memory']>, 'heapUsedBytes' | 'heapLimitBytes'>): Tone {
  const share = heapUsedBytes / Math.max(1, heapLimitBytes);
  return share >= HEAP_FULL ? 'fail' : share >= HEAP_HIGH ? 'hold' : 'run';
}

/** The most workers that can be wished of an instance, as the server has it. */
export const WORKERS_MAX = 10_000;

/** A number of workers that somebody has typed; undefined: it is none. */
export const workersWished = (text: string): number | undefined =>
  /^\d{1,5}$/.test(text.trim()) && Number(text) <= WORKERS_MAX ? Number(text) : undefined;
