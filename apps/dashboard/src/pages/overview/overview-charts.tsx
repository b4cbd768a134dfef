import { type ReactNode, useMemo } from 'react';
import type { Stats } from '../../data/stats.js';
import { Card } from '../../parts/card.js';
import { statLines } from '../../parts/stat-lines.js';
import { type Series, TimeChart } from '../../parts/time-chart.js';
import { rateText, shortCount } from '../../rules/amounts.js';
import { shortDuration } from '../../rules/times.js';

const perSecond = (value: number | null) => (value === null ? rateText(value) : `${rateText(value)}/s`);

/** Throughput, waiting and running times, and queues over time. */
export function OverviewCharts({ stats }: { readonly stats: Stats | undefined }): ReactNode {
  const drawn = useMemo(() => linesOf(stats), [stats]);
  const { times } = drawn;
  return (
    <div className="grid-2">
      <Card title="Throughput" note="Bulk jobs that ended">
        <TimeChart
          label="Jobs done and failed per second over time"
          times={times}
          series={drawn.throughput}
          text={perSecond}
        />
      </Card>
      <Card title="Queues" note="Bulk jobs, when each point was taken">
        <TimeChart
          label="Jobs waiting, held and running over time"
          times={times}
          series={drawn.queues}
          text={shortCount}
          atLeast={10}
        />
      </Card>
      <Card title="Wait" note="From when a job could have started to when it did">
        <TimeChart
          label="Waiting time of jobs over time"
          times={times}
          series={drawn.wait}
          text={shortDuration}
          atLeast={100}
        />
      </Card>
      <Card title="Run" note="How long tries took">
        <TimeChart
          label="Running time of tries over time"
          times={times}
          series={drawn.run}
          text={shortDuration}
          atLeast={100}
        />
      </Card>
    </div>
  );
}

function linesOf(stats: Stats | undefined) {
  const { times, values, percentiles } = statLines(stats);
  const throughput: readonly Series[] = [
    { label: 'done', tone: 'ok', isFilled: true, values: values(({ jobs }) => jobs.donePerSecond) },
    { label: 'retried', tone: 'hold', style: 'dashed', values: values(({ jobs }) => jobs.retriedPerSecond) },
    { label: 'failed', tone: 'fail', values: values(({ jobs }) => jobs.failedPerSecond) },
  ];
  const queues: readonly Series[] = [
    {
      label: 'waiting',
      tone: 'wait',
      isFilled: true,
      values: values(({ queues: all }) => all && all.lane + all.ready),
    },
    { label: 'held for a time', tone: 'hold', values: values(({ queues: all }) => all?.nonReady) },
    { label: 'running', tone: 'run', values: values(({ queues: all }) => all?.inFlight) },
  ];
  return {
    times,
    throughput,
    queues,
    wait: percentiles(({ waitMs }) => waitMs),
    run: percentiles(({ runMs }) => runMs),
  };
}
