import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRng } from '@millrace/foundation';
import { openLedger } from '@millrace/testkit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { drawPlan, EVENTS, HOPELESS, type Plan } from '../src/orchestrator/plan.js';
import { orchestratorScale } from '../src/orchestrator/settings.js';
import { FAULTS_OVER, Killer, type PlannedKill, STEPS } from '../src/orchestrator/steps.js';

const draw = (scale: number, seed = 1): Plan => drawPlan(seededRng(seed), orchestratorScale(scale).size);

describe('the plan of the orchestrator scenario', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(draw(1, 5)).toEqual(draw(1, 5));
    expect(draw(1, 5)).not.toEqual(draw(1, 6));
  });

  it.each([1, 0.05])('has every kind of work at scale %d', (scale) => {
    const { commands } = draw(scale);
    const { size } = orchestratorScale(scale);
    expect(commands).toHaveLength(size.commands);
    expect(new Set(commands.map(({ key }) => key)).size).toBe(size.commands);
    expect(Math.max(...commands.map(({ dueMs }) => dueMs))).toBeLessThanOrEqual(size.arrivalMs);
    for (const event of EVENTS) {
      const own = commands.filter((command) => command.event === event);
      expect(own.some(({ cancelAfterMs }) => cancelAfterMs !== undefined)).toBe(true);
      expect(own.some(({ cancelAfterMs }) => cancelAfterMs === undefined)).toBe(true);
      expect(own.some(({ callers }) => callers > 1)).toBe(true);
    }
    expect(commands.some(({ payload }) => payload.failures === HOPELESS)).toBe(true);
    expect(commands.some(({ payload }) => payload.forgotten)).toBe(true);
  });

  it('kills at every step in the full run, and at some of them in a short one', () => {
    const steps = (plan: Plan) => new Set(plan.kills.map(({ step }) => step));
    expect(steps(draw(1))).toEqual(new Set(STEPS));
    expect(steps(draw(0.05)).size).toBe(orchestratorScale(0.05).size.stepsMax);
    expect(steps(draw(0.05, 1))).not.toEqual(steps(draw(0.05, 2)));
  });
});

describe('a process that kills itself', () => {
  let folder: string;
  let marks: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-killer-'));
    marks = join(folder, 'marks');
    mkdirSync(marks);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });

  /** Which of these steps would have been the last of a process. */
  function deaths(kills: readonly PlannedKill[], sinceMs = 1000): readonly string[] {
    using ledger = openLedger(join(folder, 'ledger'));
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    const killer = new Killer({ kills, beginsAt: Date.now() - sinceMs, marks, ledger });
    const died: string[] = [];
    for (const step of STEPS) {
      const before = kill.mock.calls.length;
      killer.at(step, 'op');
      if (kill.mock.calls.length > before) died.push(step);
    }
    for (const call of kill.mock.calls) expect(call).toEqual([process.pid, 'SIGKILL']);
    kill.mockRestore();
    return died;
  }

  it('does so at the planned step, when it is due, and once among all processes', () => {
    const kills: PlannedKill[] = [
      { step: 'after claim', fromMs: 500 },
      { step: 'after reap', fromMs: 5000 },
    ];
    expect(deaths(kills)).toEqual(['after claim']);
    expect(deaths(kills)).toEqual([]);
    expect(deaths(kills, 6000)).toEqual(['after reap']);
    expect(readdirSync(marks)).toHaveLength(2);
  });

  it('does so no more when the faults are over', () => {
    writeFileSync(join(marks, FAULTS_OVER), '');
    expect(deaths([{ step: 'after claim', fromMs: 0 }])).toEqual([]);
  });

  it('does nothing after the step: the signal is not caught and not late', () => {
    const script = "process.kill(process.pid, 'SIGKILL'); require('fs').writeSync(1, 'alive')";
    const { signal, stdout } = spawnSync(process.execPath, ['-e', script]);
    expect([signal, stdout.toString()]).toEqual(['SIGKILL', '']);
  });
});
