import { type ReactNode, useMemo } from 'react';
import { useFilters } from '../../data/filters.js';
import { rangeOf, useStats } from '../../data/stats.js';
import { Card } from '../../parts/card.js';
import { OverTime } from '../../parts/over-time.js';
import { ProblemNote } from '../../parts/said.js';
import { statLines } from '../../parts/stat-lines.js';
import { type Series, TimeChart } from '../../parts/time-chart.js';
import { NOTHING, rateText } from '../../rules/amounts.js';
import { durationText } from '../../rules/times.js';

const perSecond = (value: number | null): string => (value === null ? NOTHING : `${rateText(value)}/s`);

/** Answers, ends and their speed over time. */
export function OperationsHistory(): ReactNode {
  const { values, set } = useFilters('range');
  const range = rangeOf(values.range);
  const { data, error } = useStats(range);
  const { times, answers, latency } = useMemo(() => {
    const lines = statLines(data);
    const answered: readonly Series[] = [
      {
        label: 'at once (200)',
        tone: 'run',
        isFilled: true,
        values: lines.values(({ operations }) => operations.fastPerSecond),
      },
      {
        label: 'later (202)',
        tone: 'wait',
        values: lines.values((point) => point.operations.convertedPerSecond),
      },
      {
        label: 'ended',
        tone: 'ok',
        style: 'dashed',
        values: lines.values(({ operations }) => operations.endedPerSecond),
      },
      { label: 'failed', tone: 'fail', values: lines.values(({ operations }) => operations.failedPerSecond) },
    ];
    return {
      times: lines.times,
      answers: answered,
      latency: lines.percentiles(({ latencyMs }) => latencyMs),
    };
  }, [data]);
  return (
    <OverTime range={range} onChoose={(id) => set({ range: id })}>
      {error && !data && <ProblemNote error={error} />}
      <div className="grid-2">
        <Card title="Answers" note="Submits by how they were answered, and operations that ended">
          <TimeChart
            label="Submits answered and operations ended per second over time"
            times={times}
            series={answers}
            text={perSecond}
          />
        </Card>
        <Card title="Time to the answer" note="From a submit to its 200 or 202">
          <TimeChart
            label="Time from a submit to its answer over time"
            times={times}
            series={latency}
            text={durationText}
            atLeast={100}
          />
        </Card>
      </div>
    </OverTime>
  );
}
