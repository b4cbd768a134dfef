import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { useFilters } from '../../data/filters.js';
import { useLive } from '../../data/live.js';
import { useSeenTenants } from '../../data/seen-tenants.js';
import { useSession } from '../../data/session.js';
import { rangeOf, useStats } from '../../data/stats.js';
import { Card } from '../../parts/card.js';
import { CauseList } from '../../parts/cause-list.js';
import { OverTime } from '../../parts/over-time.js';
import { PageHead } from '../../parts/page-head.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { CAUSES_MAX, failuresText } from '../../rules/causes.js';
import { hrefOf } from '../../rules/hrefs.js';
import { BackendHealth } from './backend-health.js';
import { NowStats } from './now-stats.js';
import './overview.css';
import { OverviewCharts } from './overview-charts.js';
import { TopShares } from './top-shares.js';
import { Verdict } from './verdict.js';
import { Welcome } from './welcome.js';

/** Is everybody served? What is stuck, why, and until when? What failed? */
export function Overview(): ReactNode {
  const { seesAll } = useSession();
  const { snapshot } = useLive();
  const groups = useAsk('listGroups', { query: { limit: 1 } });
  const seen = useSeenTenants();
  const isFresh = groups.data?.items.length === 0 && (snapshot?.queues?.deadLetters ?? 0) === 0;
  return (
    <>
      <PageHead title="Overview" note="Who is served, what waits, what failed">
        <BackendHealth />
      </PageHead>
      {isFresh && <Welcome />}
      <Verdict seen={seen} />
      {seesAll && <NowStats />}
      <div className="overview-pair">
        <TopShares seen={seen} />
        <TopFailures />
      </div>
      {seesAll && <History />}
    </>
  );
}

/** Number of errors below "Failed for good". */
const CAUSES_SHOWN = 5;

function TopFailures(): ReactNode {
  const { data, error } = useAsk('listDeadLetters', { query: { groupBy: 'signature', limit: CAUSES_MAX } });
  const signatures = data?.signatures ?? [];
  const note = signatures.length > 0 ? failuresText(signatures) : undefined;
  return (
    <Card title="Failed for good" note={note} aside={<Link href={hrefOf('deadLetters')}>Dead letters</Link>}>
      {error && <ProblemNote error={error} />}
      {data && signatures.length === 0 && <Empty title="Nothing has failed for good" />}
      <CauseList causes={signatures.slice(0, CAUSES_SHOWN)} />
    </Card>
  );
}

function History(): ReactNode {
  const { values, set } = useFilters('range');
  const range = rangeOf(values.range);
  const { data, error } = useStats(range);
  return (
    <OverTime range={range} onChoose={(id) => set({ range: id })}>
      {error ? <ProblemNote error={error} /> : <OverviewCharts stats={data} />}
    </OverTime>
  );
}
