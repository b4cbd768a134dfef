import type { ReactNode } from 'react';
import { useLive } from '../../data/live.js';
import { RANGES, useStats } from '../../data/stats.js';
import { Meter, MeterLegend } from '../../parts/meter.js';
import { Stat, Stats } from '../../parts/stat.js';
import { percentText, rateText, shortCount } from '../../rules/amounts.js';
import { fastPathOf } from '../../rules/fast-path.js';
import { durationText } from '../../rules/times.js';

/** Points of the last minute: one alone is often of no submit at all. */
const LAST_POINTS = 6;

/** How commands are answered now. */
export function OperationsNow(): ReactNode {
  const { snapshot } = useLive();
  const { data } = useStats(RANGES[0]);
  const recent = data?.points.slice(-LAST_POINTS) ?? [];
  const { fast, converted, share } = fastPathOf(recent, data?.step ?? 0);
  const last = recent.findLast((point) => point !== null);
  const latency = recent.findLast((point) => point?.latencyMs)?.latencyMs;
  const parts = [
    { label: 'at once (200)', value: fast, tone: 'run' },
    { label: 'later (202)', value: converted, tone: 'wait' },
  ] as const;
  return (
    <div className="operations-now">
      <section className="operations-fast" aria-label="Answered at once">
        <div className="row spread">
          <span className="operations-fast-words">
            <span className="stat-label">Answered at once</span>
            <span className="stat-value number">{percentText(share)}</span>
          </span>
          <span className="quiet small">in the last minute</span>
        </div>
        <Meter parts={parts} label="Answers of the last minute" size="thick" />
        <MeterLegend parts={parts} />
      </section>
      <Stats label="How commands are answered">
        <Stat label="Answer p50" value={durationText(latency?.p50)} note="half come sooner" />
        <Stat label="Answer p95" value={durationText(latency?.p95)} note="95% come sooner" />
        <Stat label="Answer p99" value={durationText(latency?.p99)} note="99% come sooner" />
        <Stat
          label="Open"
          value={shortCount(snapshot?.openOperations ?? null)}
          note={last ? `${rateText(last.operations.endedPerSecond)} end /s` : undefined}
        />
      </Stats>
    </div>
  );
}
