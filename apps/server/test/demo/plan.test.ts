import { DemoRequest } from '@millrace/contract';
import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { DEMO_TENANTS, jobsOf, planDemo } from '../../src/demo/plan.js';

const plan = (request: object, seed = 1) => planDemo(DemoRequest.parse(request), seededRng(seed));

describe('the plan of a demo', () => {
  it('is in the order of time, ends before the demo does, and stays under the names of the demo', () => {
    for (const seconds of [10, 60, 600]) {
      const steps = plan({ seconds, tenants: 20 }, seconds);
      const times = steps.map(({ atMs }) => atMs);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(times.at(-1)).toBeLessThan(seconds * 1000);
      for (const { tenant } of steps) expect(DEMO_TENANTS).toContain(tenant);
    }
  });

  it('has something of every kind, however short it is', () => {
    const kinds = new Set(
      plan({ seconds: 10, tenants: 1 }).map((step) =>
        step.kind === 'command' ? step.eventType : `${step.kind} of ${step.tenant}`,
      ),
    );
    expect([...kinds].sort()).toEqual([
      'GREET',
      'MAIL',
      'batch of demo-books',
      'chat of demo-desk',
      'group of demo-caller',
      'group of demo-shop-01',
      'group of demo-unlucky',
    ]);
  });

  it('brings its last calls early enough for the service to take them all', () => {
    for (const seconds of [20, 45, 60, 600]) {
      const calls = plan({ seconds }).filter(({ tenant }) => tenant === 'demo-caller');
      const last = calls.at(-1);
      // It takes 10 in a second.
      const lastsMs = last?.kind === 'group' ? (last.jobs / 10) * 1000 : 0;
      expect((last?.atMs ?? 0) + lastsMs).toBeLessThan(seconds * 1000);
    }
  });

  it('leaves the large tenant something, however many small ones there are', () => {
    const jobsPerSecond = (tenants: number) => {
      const steps = plan({ seconds: 60, tenants }).filter(({ tenant }) => tenant.startsWith('demo-shop-'));
      return jobsOf(steps) / 60;
    };
    expect(jobsPerSecond(6)).toBeGreaterThan(15);
    expect(jobsPerSecond(20)).toBeLessThan(jobsPerSecond(6) * 1.3);
  });

  it('is bounded: the largest brings fewer jobs than what a server without limits takes', () => {
    expect(jobsOf(plan({ seconds: 600, whaleJobs: 20_000, tenants: 20 }))).toBeLessThan(60_000);
  });
});
