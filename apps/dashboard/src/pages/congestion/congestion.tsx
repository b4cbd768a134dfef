import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { useFilters } from '../../data/filters.js';
import { useLive } from '../../data/live.js';
import { useSession } from '../../data/session.js';
import { RANGES, rangeOf } from '../../data/stats.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Segments } from '../../parts/field.js';
import { PageHead } from '../../parts/page-head.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { counted } from '../../rules/amounts.js';
import {
  byHolding,
  holdsBack,
  pointEverySeconds,
  type Resource,
  spanAt,
} from '../../rules/congestion-lines.js';
import { hrefOf } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';
import './congestion.css';
import { ResourceCard } from './resource-card.js';

/** The server keeps an hour of it unless told otherwise. */
const CHOICES = [RANGES[0], RANGES[1]] as const;
/** Drawn at once: each is two charts. */
const DRAWN_MAX = 20;
/** No change tells of a rate that falls because nobody calls any more. */
const LOOK_EVERY_MS = 5_000;

/** What called services let through, and how fast they may be called therefore. */
export function Congestion(): ReactNode {
  const { seesAll } = useSession();
  const { values, set } = useFilters('range');
  const chosen = rangeOf(values.range);
  const { id, minutes } = CHOICES.find((range) => range.id === chosen.id) ?? CHOICES[0];
  return (
    <>
      <PageHead
        title="Congestion"
        note="How fast the services that jobs call are called, and how fast they may be"
      >
        {seesAll && (
          <Segments
            label="Time range"
            value={id}
            options={CHOICES.map((range) => [range.id, range.name])}
            onChoose={(range) => set({ range })}
          />
        )}
      </PageHead>
      {seesAll ? <Services minutes={minutes} /> : <NotTold />}
    </>
  );
}

function Services({ minutes }: { readonly minutes: number }): ReactNode {
  const { data, error, dataUpdatedAt } = useAsk('getCongestion', { query: {} }, { everyMs: LOOK_EVERY_MS });
  const { aheadMs } = useLive();
  const [most, setMost] = useState(DRAWN_MAX);
  if (error && !data) return <ProblemNote error={error} />;
  if (!data) return <div className="congestion-awaited" role="status" aria-label="Loading" />;
  const sorted = byHolding(data.resources);
  const answeredAt = dataUpdatedAt + aheadMs;
  const span = spanAt(answeredAt / 1000, minutes);
  const every = pointEverySeconds(sorted);
  return (
    <>
      <Summary resources={sorted} />
      <div className="grid-2">
        {sorted.slice(0, most).map((resource) => (
          <ResourceCard
            key={resource.resource}
            resource={resource}
            span={span}
            every={every}
            answeredAt={answeredAt}
          />
        ))}
      </div>
      {sorted.length > most && (
        <div>
          <Button onClick={() => setMost(most + DRAWN_MAX)}>
            Show {counted(Math.min(DRAWN_MAX, sorted.length - most), 'more service', 'more services')} of{' '}
            {sorted.length - most}
          </Button>
        </div>
      )}
    </>
  );
}

/** Named up to here, counted beyond. */
const NAMED_MAX = 3;

function Summary({ resources }: { readonly resources: readonly Resource[] }): ReactNode {
  const holding = resources.filter(holdsBack);
  if (resources.length === 0)
    return (
      <Card>
        <Empty title="No service has been called">
          A processor names the service that it calls; with its first job the service is shown here.
        </Empty>
      </Card>
    );
  const names =
    holding.length <= NAMED_MAX
      ? holding.map(({ resource }) => shownText(resource)).join(', ')
      : counted(holding.length, 'service');
  const headline =
    holding.length === 0
      ? 'No service holds anybody back'
      : `${names} ${holding.length === 1 ? 'holds' : 'hold'} work back: jobs that call ${holding.length === 1 ? 'it' : 'them'} wait for their turn, all others go on`;
  return (
    <section
      className={`congestion-summary ${holding.length > 0 ? 'summary-hold' : 'summary-ok'}`}
      aria-label="Who holds work back?"
    >
      <p className="congestion-headline">{headline}</p>
      <p className="congestion-why small">
        A service has no limit until it refuses a call. Then it is called a little slower than what it took in
        the last second, not at all while it asks for a pause, and faster step by step while it refuses
        nothing.
      </p>
    </section>
  );
}

function NotTold(): ReactNode {
  const { caller } = useSession();
  return (
    <Card>
      <Empty title="Services are shared by all tenants">
        This key is one of {shownText(caller.tenant ?? '')} alone, and others’ calls are not for it to see.
        What holds back your own jobs stands with each of <Link href={hrefOf('groups')}>your groups</Link>.
      </Empty>
    </Card>
  );
}
