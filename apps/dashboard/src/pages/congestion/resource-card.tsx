import { type ReactNode, useMemo } from 'react';
import { useNow } from '../../data/live.js';
import { Card } from '../../parts/card.js';
import { Facts } from '../../parts/stat.js';
import { Tag } from '../../parts/status.js';
import { type Series, TimeChart } from '../../parts/time-chart.js';
import { countText, NOTHING, percentText, rateText, shortCount } from '../../rules/amounts.js';
import {
  type Resource,
  refusalBars,
  resourceLines,
  resourceMark,
  type Span,
} from '../../rules/congestion-lines.js';
import { durationText } from '../../rules/times.js';
import { shownText } from '../../rules/written-json.js';

/** One called service. */
export interface ResourceCardProps {
  readonly resource: Resource;
  /** All are drawn over the same time. */
  readonly span: Span;
  /** Seconds between two points at least. */
  readonly every: number | undefined;
  /** When the server said so, in milliseconds since 1970. */
  readonly answeredAt: number;
}

const perSecond = (value: number | null): string => (value === null ? 'no limit' : `${rateText(value)}/s`);
const atOnce = (value: number | null): string => (value === null ? 'no limit' : countText(value));

/** How a service is called now, and how it was: its rate against its limit, and the calls that it refused. */
export function ResourceCard({ resource, span, every, answeredAt }: ResourceCardProps): ReactNode {
  const now = useNow();
  const frozenForMs = Math.max(0, resource.frozenForMs - Math.max(0, now - answeredAt));
  const { text, tone } = resourceMark(resource, frozenForMs);
  const name = shownText(resource.resource);
  return (
    <Card title={<span className="mono">{name}</span>} aside={<Tag tone={tone}>{text}</Tag>}>
      <div className="stack congestion-card">
        <Facts
          facts={[
            ['Rate now', `${rateText(resource.rate)}/s`],
            ['Limit', perSecond(resource.limit)],
            ['At once', atOnce(resource.concurrency)],
            ['Frozen for', frozenForMs > 0 ? durationText(frozenForMs) : NOTHING],
            ['Calls', shortCount(resource.starts)],
            [
              'Refused',
              <span key="refused" title="For each hundred calls that were taken">
                {shortCount(resource.throttles)} ({percentText(resource.throttlesPerJob)})
              </span>,
            ],
          ]}
        />
        <ResourceCharts name={name} resource={resource} span={span} every={every} answeredAt={answeredAt} />
      </div>
    </Card>
  );
}

function ResourceCharts({
  name,
  resource,
  span,
  every,
  answeredAt,
}: ResourceCardProps & { readonly name: string }): ReactNode {
  const [from, to] = span;
  const drawn = useMemo(() => {
    const lines = resourceLines(resource, { from, now: answeredAt / 1000, every });
    const rates: readonly Series[] = [
      { label: 'rate', tone: 'run', isFilled: true, values: lines.rate },
      { label: 'limit', tone: 'hold', isStepped: true, values: lines.limit },
    ];
    const concurrency: readonly Series[] = [
      { label: 'calls at once, at most', tone: 'hold', isStepped: true, values: lines.concurrency },
    ];
    const refusals = refusalBars(resource.history, [from, to]);
    const bars: readonly Series[] = [
      {
        label: `refused in ${durationText(refusals.widthMs)}`,
        tone: 'fail',
        isBars: true,
        values: refusals.counts,
      },
    ];
    const isCapped = lines.concurrency.some((value) => value !== null);
    return {
      times: lines.times,
      rates,
      bars,
      barTimes: refusals.times,
      concurrency: isCapped && concurrency,
    };
  }, [resource, from, to, every, answeredAt]);
  return (
    <div>
      <TimeChart
        label={`Calls of ${name} per second and their limit over time`}
        times={drawn.times}
        series={drawn.rates}
        text={perSecond}
        span={span}
        height={140}
      />
      <TimeChart
        label={`Calls that ${name} refused over time`}
        times={drawn.barTimes}
        series={drawn.bars}
        text={countText}
        span={span}
        height={84}
        atLeast={3}
      />
      {drawn.concurrency && (
        <TimeChart
          label={`Most calls of ${name} at once over time`}
          times={drawn.times}
          series={drawn.concurrency}
          text={atOnce}
          span={span}
          height={84}
          atLeast={4}
        />
      )}
    </div>
  );
}
