import type { DemoRequest } from '@millrace/contract';
import type { Rng } from '@millrace/foundation';

/** Something that the demo does at its time. */
export type DemoStep = { readonly atMs: number } & DemoWork;

/** What it does. */
type DemoWork =
  | {
      readonly kind: 'group';
      readonly tenant: string;
      readonly jobs: number;
      readonly processorType: 'demo.work' | 'demo.call';
      readonly payload: object;
    }
  | { readonly kind: 'batch'; readonly tenant: string; readonly payload: object }
  | {
      readonly kind: 'command';
      readonly tenant: string;
      readonly eventType: 'GREET' | 'MAIL' | 'CLOSE';
      readonly payload: object;
    }
  | { readonly kind: 'chat'; readonly tenant: string; readonly message: string };

/** Who brings far more work than everybody else together, all of it at the beginning. */
export const WHALE = 'demo-whale';
/** Who calls a service that is easily too much for. */
export const CALLER = 'demo-caller';
const UNLUCKY = 'demo-unlucky';
/** Whose batches they are. */
export const BOOKS = 'demo-books';
/** Who gives commands, and chats. */
export const DESK = 'demo-desk';

const SHOP = 'demo-shop-';
const shop = (n: number): string => `${SHOP}${String(n).padStart(2, '0')}`;

/** Whether a tenant is one of the small ones that come and go beside the whale. */
export const isShop = (tenant: string): boolean => tenant.startsWith(SHOP);

/** The most small tenants, as `DemoRequest` has it. */
const SHOPS_MAX = 20;

/** Everybody who works in demos of any size. */
export const DEMO_TENANTS: readonly string[] = [WHALE, CALLER, UNLUCKY, BOOKS, DESK, ...shopsOf(SHOPS_MAX)];

function shopsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => shop(n + 1));
}

/** How often each kind of work comes, in milliseconds. */
const EVERY_MS = {
  shop: 12_000,
  call: 15_000,
  dying: 20_000,
  batch: 9_000,
  greet: 2_000,
  mail: 15_000,
  chat: 8_000,
};
/** Nothing new comes in the last part, so that small work ends by itself. */
const QUIET_MS = 3_000;
/** The same of calls: the service takes few of them in a second. */
const CALLS_QUIET_MS = 8_000;
const CALLS = 60;

/** Jobs that a small tenant brings at once: enough for its share to be seen. */
const SHOP_JOBS = [30, 70] as const;
/** With more tenants than these each brings less: together they leave the whale something. */
const SHOPS_OF_FULL_SIZE = 6;

/**
 * Everything that a demo does besides its whale, in the order of time: it is bounded before it begins.
 * @param request - how long, how much, how many.
 * @param rng - decides what comes when.
 */
export function planDemo(request: DemoRequest, rng: Rng): readonly DemoStep[] {
  const [jobsLeast, jobsMost] = shopJobs(request.tenants);
  const between = (least: number, most: number) => Math.floor(least + rng.next() * (most - least));
  /** The first after a part of the interval, so that not all kinds come at once. */
  const every = (
    intervalMs: number,
    firstMs: number,
    work: (n: number) => DemoWork,
    quietMs = QUIET_MS,
  ): DemoStep[] => {
    const endMs = request.seconds * 1000 - quietMs;
    const count = Math.max(1, Math.ceil((endMs - firstMs) / intervalMs));
    return Array.from({ length: count }, (_, n) => ({ atMs: firstMs + n * intervalMs, ...work(n) }));
  };
  const group = (tenant: string, jobs: number, payload: object): DemoWork => ({
    kind: 'group',
    tenant,
    jobs,
    processorType: tenant === CALLER ? 'demo.call' : 'demo.work',
    payload,
  });
  const steps: DemoStep[] = [
    ...shopsOf(request.tenants).flatMap((tenant) =>
      every(EVERY_MS.shop, between(1_000, EVERY_MS.shop / 2), () =>
        group(tenant, between(jobsLeast, jobsMost), { ms: between(50, 200), fail: 'sometimes' }),
      ),
    ),
    ...every(EVERY_MS.call, 500, () => group(CALLER, CALLS, { ms: 20 }), CALLS_QUIET_MS),
    ...every(EVERY_MS.dying, 3_000, () => group(UNLUCKY, 9, { ms: 10, fail: 'always' })),
    ...every(EVERY_MS.batch, 1_500, (n) => ({
      kind: 'batch',
      tenant: BOOKS,
      payload: { ms: between(300, 900), ...(n % 3 === 2 && { fail: 'gbp' }) },
    })),
    ...every(EVERY_MS.greet, 800, (n) => ({
      kind: 'command',
      tenant: DESK,
      eventType: 'GREET',
      payload: { name: `visitor ${n + 1}`, ms: n % 3 === 0 ? between(300, 1_500) : 0 },
    })),
    ...every(EVERY_MS.chat, 1_000, (n) => ({
      kind: 'chat',
      tenant: DESK,
      message: `What came of order ${n + 1}?`,
    })),
    ...every(EVERY_MS.mail, 2_500, (n) => ({
      kind: 'command',
      tenant: DESK,
      ...(n % 2 === 0
        ? { eventType: 'MAIL', payload: { count: 30, ms: 30 } }
        : { eventType: 'CLOSE', payload: { ms: 200 } }),
    })),
  ];
  return steps.sort((a, b) => a.atMs - b.atMs);
}

function shopJobs(tenants: number): readonly [least: number, most: number] {
  const size = Math.min(1, SHOPS_OF_FULL_SIZE / tenants);
  return [Math.ceil(SHOP_JOBS[0] * size), Math.ceil(SHOP_JOBS[1] * size)];
}

/** How many jobs the steps of a demo bring, those of its commands included. */
export const jobsOf = (steps: readonly DemoStep[]): number =>
  steps.reduce((sum, step) => sum + (step.kind === 'group' ? step.jobs : mailedBy(step)), 0);

const mailedBy = (step: DemoStep): number =>
  step.kind === 'command' ? ((step.payload as { readonly count?: number }).count ?? 0) : 0;
