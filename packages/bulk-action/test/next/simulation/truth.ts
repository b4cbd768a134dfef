import type { NewJob } from '../../../src/next/engine/format/chunk.js';
import type { GroupSettings, JobOutcome } from '../../../src/next/engine/state/change.js';
import { type ChunkAddress, firstPosition, type Position } from '../../../src/next/engine/state/position.js';
import { type GroupStatus, hasEnded } from '../../../src/states.js';

/** Resources that the processor types call. A type without one is a resource of its own. */
export const RESOURCES: { readonly [type: string]: string } = { R: 'service' };

/** Limits of the shard, a tenant or a group. */
export interface TruthScope {
  readonly name: string;
  weight: number;
  rps: number | undefined;
  burst: number | undefined;
  concurrency: number | undefined;
  isPaused: boolean;
  readonly inFlight: Set<TruthJob>;
}

/** A job that the journal has acknowledged, as far as commits describe it. */
export interface TruthJob {
  readonly group: TruthGroup;
  readonly position: Position;
  readonly body: NewJob;
  readonly dueMs: number | undefined;
  place: 'SUBMITTED' | 'QUEUED' | 'FRONT' | 'IN_FLIGHT' | 'DELAYED' | 'ENDED';
  attempt: number;
  instanceId: string;
  starts: number;
  retries: number;
  orphans: number;
  throttles: number;
  returns: number;
  delayedUntilMs: number;
  outcome: JobOutcome | undefined;
}

export interface TruthGroup extends TruthScope {
  readonly id: string;
  readonly tenant: TruthScope;
  settings: GroupSettings;
  readonly jobs: Map<Position, TruthJob>;
  status: GroupStatus;
  isSealed: boolean;
  /** True if a round of it was cut. */
  wasCut: boolean;
  round: number;
  /** Jobs of this round that were registered, and their ends. */
  registered: number;
  readonly ends: Record<JobOutcome, number>;
}

export interface TruthInstance {
  slots: number;
  types: readonly string[];
  readonly inFlight: Set<TruthJob>;
}

const newScope = (name: string): TruthScope => ({
  name,
  weight: 1,
  rps: undefined,
  burst: undefined,
  concurrency: undefined,
  isPaused: false,
  inFlight: new Set(),
});

/** Everything that was acknowledged, and what became of it by the commits that are durable. */
export class Truth {
  readonly shard = newScope('shard');
  readonly tenants = new Map<string, TruthScope>();
  readonly groups = new Map<string, TruthGroup>();
  readonly resources = new Map<string, TruthScope>();
  readonly instances = new Map<string, TruthInstance>();

  tenant(id: string): TruthScope {
    const tenant = this.tenants.get(id) ?? newScope(`tenant ${id}`);
    this.tenants.set(id, tenant);
    return tenant;
  }

  resource(name: string): TruthScope {
    const resource = this.resources.get(name) ?? newScope(`resource ${name}`);
    this.resources.set(name, resource);
    return resource;
  }

  /** Returns a group; adds it with the definition of its first submit. */
  group(id: string, tenantId: string, settings: GroupSettings): TruthGroup {
    const known = this.groups.get(id);
    if (known) return known;
    const { weight, rps, burst, concurrency } = settings;
    const group: TruthGroup = {
      ...newScope(`group ${id}`),
      ...{ weight, rps, burst, concurrency, id, settings },
      tenant: this.tenant(tenantId),
      jobs: new Map(),
      status: 'CREATED',
      isSealed: false,
      wasCut: false,
      round: 1,
      registered: 0,
      ends: { COMPLETED: 0, FAILED: 0, CANCELLED: 0 },
    };
    this.groups.set(id, group);
    return group;
  }

  /** Adds the jobs of a chunk that the journal has acknowledged. */
  acknowledge(
    group: TruthGroup,
    address: ChunkAddress,
    jobs: readonly NewJob[],
    dueMs: number | undefined,
  ): void {
    for (const [index, body] of jobs.entries()) {
      const position = firstPosition(address) + index;
      const counts = { attempt: 0, starts: 0, retries: 0, orphans: 0, throttles: 0, returns: 0 };
      const waiting = { place: 'SUBMITTED', instanceId: '', delayedUntilMs: 0, outcome: undefined } as const;
      group.jobs.set(position, { group, position, body, dueMs, ...counts, ...waiting });
    }
  }

  /** Returns everything whose limits hold for a job. */
  scopesOf({ group, body }: TruthJob): readonly TruthScope[] {
    return [group, group.tenant, this.shard, this.resource(RESOURCES[body.type] ?? body.type)];
  }

  /** Takes a job out of flight. */
  land(job: TruthJob): void {
    for (const scope of this.scopesOf(job)) scope.inFlight.delete(job);
    this.instances.get(job.instanceId)?.inFlight.delete(job);
  }

  *jobs(): Iterable<TruthJob> {
    for (const group of this.groups.values()) yield* group.jobs.values();
  }

  /** Jobs that have not ended. */
  get open(): number {
    let open = 0;
    for (const { place } of this.jobs()) if (place !== 'ENDED') open += 1;
    return open;
  }

  /** Groups that have not ended and must: the sealable ones. */
  get openGroups(): number {
    return [...this.groups.values()].filter(
      ({ settings, status }) => settings.isSealable && !hasEnded(status),
    ).length;
  }
}

/** Names a job in a message. */
export const nameOf = ({ group, position }: TruthJob): string => `${group.id}#${position % 2 ** 46}`;
