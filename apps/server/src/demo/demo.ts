import { type GroupView, hasEnded } from '@millrace/bulk-action';
import { BulkActionEngine, BulkActionService } from '@millrace/bulk-action/nestjs';
import { type DemoBody, type DemoRequest, type DemoStopped, ROUTES } from '@millrace/contract';
import { sleep, systemRng, toWorkError } from '@millrace/foundation';
import { Operations, OrchestratorService } from '@millrace/orchestrator/nestjs';
import { Batches, Pusher } from '@millrace/outbox/nestjs';
import { Controller, Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { ChatHost } from '../chat/chat-host.js';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { ERRORS } from '../errors.js';
import { HandleRoute } from '../http/routes.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import { clearDemo, type DemoPlaces } from './clear-demo.js';
import { type DemoDoors, jobsOfGroup, performStep } from './perform-step.js';
import { type DemoStep, jobsOf, planDemo, WHALE } from './plan.js';

/** Of the most jobs that may wait (`limits.queuedJobsMax`), what a demo leaves alone. */
const SPARED_SHARE = 0.5;
/** Where nothing else limits them. */
const QUEUED_MAX = 200_000;
/** Behind its end, so that who runs it ends its work; the deadline does it for one that died. */
const DEADLINE_SLACK_MS = 15_000;

/** What each job of the whale does. */
const WHALE_WORK = { ms: 100 };

/** A demo that this instance runs. */
interface Run {
  readonly body: Omit<DemoBody, 'created'>;
  readonly over: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Runs the demo. That one runs is in the store: its whale's group is open as long, so every instance knows, and who cancels that group ends it.
 */
@Injectable()
export class Demo implements OnModuleDestroy {
  readonly #parts: ServerParts;
  readonly #engine: BulkActionEngine;
  readonly #doors: DemoDoors;
  readonly #places: DemoPlaces;
  #run: Run | undefined;
  #starting: Promise<DemoBody> | undefined;

  constructor(
    @Inject(PARTS) parts: ServerParts,
    @Inject(BulkActionEngine) engine: BulkActionEngine,
    @Inject(BulkActionService) bulk: BulkActionService,
    @Inject(Pusher) pusher: Pusher,
    @Inject(Batches) batches: Batches,
    @Inject(OrchestratorService) orchestrator: OrchestratorService,
    @Inject(Operations) operations: Operations,
    @Inject(ChatHost) host: ChatHost,
  ) {
    this.#parts = parts;
    this.#engine = engine;
    this.#doors = { bulk, pusher, orchestrator, chat: host.isBuiltIn ? host.chat : undefined };
    this.#places = { bulk, batches, operations };
  }

  /**
   * Starts a demo, unless one runs: then that one is answered. It is bounded before it begins.
   * @param request - how long, how much, how many.
   * @throws MillraceError `DEMO_REFUSED`; those of stores that are away.
   */
  async start(request: DemoRequest): Promise<DemoBody> {
    if (this.#starting) return { ...(await this.#starting), created: false };
    this.#starting = this.#start(request).finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /**
   * Brings no more work and ends everything of demos that has not ended, of any instance.
   * @throws MillraceError those of stores that are away; may be repeated.
   */
  async stop(): Promise<DemoStopped> {
    await this.#starting?.catch(() => {});
    this.#run?.over.abort();
    await this.#run?.ended;
    return clearDemo(this.#places);
  }

  /** Brings no more work. What is left ends by itself, by its deadline at the latest. */
  onModuleDestroy(): void {
    this.#run?.over.abort();
  }

  async #start(request: DemoRequest): Promise<DemoBody> {
    const running = this.#run;
    if (running && Date.parse(running.body.endsAt) > this.#parts.clock.now())
      return { ...running.body, created: false };
    // One that is over still ends what is left of it.
    await running?.ended;
    const elsewhere = await this.#runningElsewhere();
    if (elsewhere) return elsewhere;
    const steps = planDemo(request, systemRng());
    await this.#requireRoom(request.whaleJobs + jobsOf(steps));
    const { clock } = this.#parts;
    const now = clock.now();
    const run = `demo-${now.toString(36)}`;
    const body = {
      run,
      startedAt: new Date(now).toISOString(),
      endsAt: new Date(now + request.seconds * 1000).toISOString(),
      groupId: `${WHALE}/${run}`,
    };
    await this.#bringWhale(body, request.whaleJobs);
    const over = new AbortController();
    const ended = this.#play(body, steps, over.signal).finally(() => {
      this.#run = undefined;
    });
    this.#run = { body, over, ended };
    return { ...body, created: true };
  }

  /** Before the answer: whoever asks next, of whichever instance, finds it. */
  async #bringWhale(body: Run['body'], jobs: number): Promise<void> {
    const { bulk } = this.#doors;
    await bulk.createGroup({ id: body.groupId, deadline: deadlineOf(body) });
    try {
      await bulk.addJobs(body.groupId, jobsOfGroup(jobs, 'demo.work', WHALE_WORK));
    } catch (error) {
      // Nobody would run what its group says runs.
      await bulk.cancelGroup(body.groupId).catch(() => {});
      throw error;
    }
  }

  async #runningElsewhere(): Promise<DemoBody | undefined> {
    const { items } = await this.#doors.bulk.listGroups({ tenant: WHALE }, { limit: 1 });
    const [group] = items;
    if (!group || hasEnded(group.status) || group.deadline === undefined) return undefined;
    const endsAt = group.deadline - DEADLINE_SLACK_MS;
    return endsAt > this.#parts.clock.now() ? bodyOf(group, endsAt) : undefined;
  }

  async #requireRoom(jobs: number): Promise<void> {
    const { lane, ready, nonReady } = await this.#doors.bulk.getQueues();
    const { queuedJobsMax } = this.#engine.config.limits;
    const max = queuedJobsMax > 0 ? Math.floor(queuedJobsMax * SPARED_SHARE) : QUEUED_MAX;
    if (lane + ready + nonReady + jobs > max)
      throw ERRORS.create('DEMO_REFUSED', { jobs, max }, { retryAfterMs: 30_000 });
  }

  /** Step by step, each when it is due; one that a store refuses is left out. */
  async #play(body: Run['body'], steps: readonly DemoStep[], signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    const begin = clock.monotonicMs() - (clock.now() - Date.parse(body.startedAt));
    const lastMs = Date.parse(body.endsAt) - Date.parse(body.startedAt);
    const waitUntil = (atMs: number) => sleep(clock, Math.max(0, begin + atMs - clock.monotonicMs()), signal);
    log.info({ run: body.run, endsAt: body.endsAt }, 'A demo begins');
    for (const [n, step] of steps.entries()) {
      if (!(await waitUntil(step.atMs)) || (await this.#isCancelled(body.groupId))) break;
      const named = { name: `${body.run}-${n + 1}`, deadline: deadlineOf(body) };
      await performStep(this.#doors, step, named).catch((error) => {
        log.warn(
          { run: body.run, kind: step.kind, reason: toWorkError(error).message },
          'A demo leaves out a step',
        );
      });
    }
    if (!(await this.#isCancelled(body.groupId))) await waitUntil(lastMs);
    // Whoever stops it here ends its work; a process that stops leaves that to the deadline.
    if (!signal.aborted) await this.#end(body.groupId);
    log.info({ run: body.run }, 'A demo has ended');
  }

  async #end(groupId: string): Promise<void> {
    try {
      // A whale that is done is completed by it; one that is not is cancelled with the rest.
      await this.#doors.bulk.seal(groupId);
      await clearDemo(this.#places);
    } catch (error) {
      this.#parts.log.warn({ reason: toWorkError(error).message }, 'What a demo left ends by its deadline');
    }
  }

  /** By somebody who stopped the demo at another instance. */
  async #isCancelled(groupId: string): Promise<boolean> {
    const group = await this.#doors.bulk.getGroup(groupId).catch(() => undefined);
    return group?.status === 'CANCELLED';
  }
}

const deadlineOf = ({ endsAt }: Pick<DemoBody, 'endsAt'>): Date =>
  new Date(Date.parse(endsAt) + DEADLINE_SLACK_MS);

const bodyOf = ({ id, createdAt }: GroupView, endsAt: number): DemoBody => ({
  run: id.slice(WHALE.length + 1),
  created: false,
  startedAt: new Date(createdAt).toISOString(),
  endsAt: new Date(endsAt).toISOString(),
  groupId: id,
});

/** Serves the start and the stop of the demo. */
@Controller()
export class DemoController {
  readonly #demo: Demo;

  constructor(@Inject(Demo) demo: Demo) {
    this.#demo = demo;
  }

  @HandleRoute(ROUTES.startDemo)
  start(@RouteInput() { body }: ValidatedRequest<typeof ROUTES.startDemo>): Promise<DemoBody> {
    return this.#demo.start(body);
  }

  @HandleRoute(ROUTES.stopDemo)
  stop(): Promise<DemoStopped> {
    return this.#demo.stop();
  }
}
