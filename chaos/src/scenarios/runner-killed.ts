import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { isProcessGone, until } from '@millrace/testkit';
import { programFile } from '../programs.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

const ROUNDS = 20;
const GONE_WITHIN_MS = 5_000;
const SIGNALS = ['SIGKILL', 'SIGTERM', 'SIGINT'] as const;

/** Kills the process that owns a private Redis and PostgreSQL, during start-up and after: no server may outlive it. */
async function run({ rng, scale }: ScenarioContext): Promise<Verdict[]> {
  const rounds = Math.max(SIGNALS.length, Math.round(ROUNDS * scale));
  const left: string[] = [];
  let started = 0;
  let slowestMs = 0;
  for (let round = 0; round < rounds; round++) {
    const signal = SIGNALS[round % SIGNALS.length] ?? 'SIGKILL';
    const child = spawn(process.execPath, [programFile('children/server-owner')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    // One server up, or both: the moment of the kill differs.
    const pids = await pidsOf(child, rng.chance(0.3) ? 1 : 2);
    started += pids.length;
    const killedAt = performance.now();
    child.kill(signal);
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    for (const pid of pids) {
      await until(() => isProcessGone(pid), {
        what: `server ${pid} to end`,
        deadlineMs: GONE_WITHIN_MS,
      }).catch(() => left.push(`${pid} after ${signal}`));
    }
    slowestMs = Math.max(slowestMs, performance.now() - killedAt);
  }
  return [
    {
      invariant: 'I11 shutdown ends in time',
      held: left.length === 0,
      evidence:
        left.length > 0
          ? `still running: ${left.join(', ')}`
          : `${started} servers over ${rounds} kills, the last gone after ${slowestMs.toFixed(0)} ms at most`,
    },
  ];
}

async function pidsOf(child: ChildProcess, count: number): Promise<number[]> {
  const pids: number[] = [];
  if (!child.stdout) return pids;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== 'up') pids.push(Number(line));
    if (pids.length >= count) break;
  }
  return pids;
}

registerScenario({
  name: 'runner-killed',
  what: 'the owner of private servers is killed by SIGKILL, SIGTERM and SIGINT, also during start-up',
  run,
});
