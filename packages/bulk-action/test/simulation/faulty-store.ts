import { ERRORS } from '../../src/errors.js';
import type { BulkStore, WakeUps } from '../../src/ports.js';
import type { CallFault, Chaos } from './chaos.js';
import type { CallStage } from './pool-check.js';
import type { Scheduler, SimProcess } from './scheduler.js';

/** Every member of every port that is a call. */
const MEMBERS = {
  groups: ['create', 'add', 'seal', 'cancel', 'pause', 'resume', 'forgetSlowness', 'update', 'updateTenant'],
  views: [
    'group',
    'result',
    'job',
    'groups',
    'activeGroups',
    'jobs',
    'tenant',
    'fairness',
    'queues',
    'explain',
    'resources',
    'slowness',
  ],
  gate: ['fetch', 'dispatch', 'admit', 'checkRate'],
  leases: ['reserve', 'renew', 'settle', 'giveBack', 'recover', 'giveBackAll'],
  upkeep: ['sweep'],
  watch: ['look', 'reconcile'],
  deadLetters: ['list', 'signatures', 'redrive', 'purge'],
  aggregations: ['claim', 'claimGroup', 'renew', 'page', 'find', 'finish', 'fail'],
  instances: ['heartbeat', 'leave', 'list'],
  once: ['begin', 'renew', 'finish', 'release'],
} as const satisfies { readonly [P in Port]: readonly (keyof BulkStore[P])[] };

type Port = Exclude<keyof BulkStore, 'wakeUps' | 'start' | 'stop'>;
/** `partOf` asks nobody. */
type Forgotten = {
  [P in Port]: Exclude<keyof BulkStore[P], (typeof MEMBERS)[P][number] | 'partOf'>;
}[Port];
// A member added to the ports and not here would reach the store without faults: that must not compile.
const complete: [Forgotten] extends [never] ? true : Forgotten = true;
void complete;

/** Performs one call on the real store, and looks at it. */
export type Execute = (process: SimProcess, member: string, args: readonly unknown[]) => Promise<unknown>;

/** What a faulty store needs of the run it is part of. */
export interface FaultyStoreParts {
  readonly scheduler: Scheduler;
  readonly chaos: Chaos;
  /** Owns what is on its way: it goes on when the sender dies. */
  readonly network: SimProcess;
  readonly execute: Execute;
  /** The real store's wake-ups. */
  readonly wakeUps: WakeUps;
  kill(process: SimProcess): void;
  /** Sees every call as its process does. */
  note(process: SimProcess, member: string, args: readonly unknown[], stage: CallStage): void;
}

/**
 * The store as one process sees it over a bad network: every call goes out, is executed and comes back as events of
 * the scheduler, and each of these steps may go wrong.
 * @param process - who calls.
 */
export function faultyStore(process: SimProcess, parts: FaultyStoreParts): BulkStore {
  const ports = Object.entries(MEMBERS).map(([port, members]) => [
    port,
    Object.fromEntries(
      members.map((member) => [
        member,
        (...args: readonly unknown[]) => new Call(process, `${port}.${member}`, args, parts).send(),
      ]),
    ),
  ]);
  return {
    ...(Object.fromEntries(ports) as Pick<BulkStore, Port>),
    wakeUps: faultyWakeUps(process, parts),
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}

class Call {
  readonly #process: SimProcess;
  readonly #member: string;
  readonly #args: readonly unknown[];
  readonly #parts: FaultyStoreParts;
  #resolve: (answer: unknown) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(process: SimProcess, member: string, args: readonly unknown[], parts: FaultyStoreParts) {
    this.#process = process;
    this.#member = member;
    this.#args = args;
    this.#parts = parts;
  }

  send(): Promise<unknown> {
    const { chaos } = this.#parts;
    this.#note('sent');
    const fault = chaos.callFault(this.#process);
    if (fault) this.#parts.scheduler.log.write(`  ${this.#process.name} ${this.#member}: ${fault}`);
    const answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (fault === 'request lost') this.#fail(chaos.delay(), fault);
    else if (fault === 'request delayed') this.#travelLong(() => this.#arrive(fault));
    else this.#travel(chaos.delay(), () => this.#arrive(fault));
    return answer;
  }

  #travel(delay: number, arrive: () => void): void {
    const { scheduler, network } = this.#parts;
    scheduler.schedule(network, delay, `${this.#process.name} calls ${this.#member}`, arrive);
  }

  #travelLong(arrive: () => void): void {
    const { chaos } = this.#parts;
    chaos.latecomers += 1;
    this.#travel(chaos.longDelay(), () => {
      chaos.latecomers -= 1;
      arrive();
    });
  }

  #arrive(fault: CallFault | undefined): void {
    const { chaos } = this.#parts;
    // What was sent just before the death may still arrive, or not.
    if (!this.#process.alive && chaos.coin()) return;
    if (fault === 'killed before execution') {
      this.#parts.kill(this.#process);
      return;
    }
    void this.#execute().then((answer) => this.#answered(answer, fault), this.#reject);
  }

  #answered(answer: unknown, fault: CallFault | undefined): void {
    const { chaos } = this.#parts;
    switch (fault) {
      case 'reply lost':
        this.#fail(chaos.delay(), fault);
        return;
      case 'killed before the reply':
        this.#parts.kill(this.#process);
        return;
      case 'sent twice':
        this.#travel(chaos.delay(), () => void this.#execute().then((again) => this.#reply(0, again)));
        return;
      case 'late copy':
        this.#travelLong(() => void this.#execute());
        break;
      default:
    }
    this.#reply(fault === 'reply delayed' ? chaos.longDelay() : chaos.delay(), answer);
  }

  #execute(): Promise<unknown> {
    return this.#parts.execute(this.#process, this.#member, this.#args);
  }

  #reply(delay: number, answer: unknown): void {
    const label = `${this.#member} answered`;
    this.#parts.scheduler.schedule(this.#process, delay, label, () => {
      this.#note('answered');
      this.#resolve(answer);
    });
  }

  #fail(delay: number, reason: CallFault): void {
    const label = `${this.#member} failed: ${reason}`;
    const error = ERRORS.create('BACKEND_UNAVAILABLE', { reason });
    this.#parts.scheduler.schedule(this.#process, delay, label, () => {
      this.#note('failed');
      this.#reject(error);
    });
  }

  #note(stage: CallStage): void {
    this.#parts.note(this.#process, this.#member, this.#args, stage);
  }
}

function faultyWakeUps(process: SimProcess, { scheduler, chaos, wakeUps }: FaultyStoreParts): WakeUps {
  /** Hands a hint on, late or never; what arrives after the end of the listening is dropped. */
  const hint = (listen: (deliver: (label: string, run: () => void) => void) => () => void): (() => void) => {
    let listening = true;
    const stop = listen((label, run) => {
      if (!process.alive || !listening) return;
      const fault = chaos.wakeUpFault();
      if (fault === 'wake-up lost') return;
      const delay = fault ? chaos.longDelay() : chaos.delay();
      scheduler.schedule(process, delay, label, () => listening && run());
    });
    return () => {
      listening = false;
      stop();
    };
  };
  return {
    listen: (kind, ring) => hint((deliver) => wakeUps.listen(kind, () => deliver(`wake-up ${kind}`, ring))),
    passOn: (kind) => wakeUps.passOn(kind),
    subscribe: (listener) =>
      hint((deliver) => wakeUps.subscribe((event) => deliver(`event ${event.type}`, () => listener(event)))),
  };
}
