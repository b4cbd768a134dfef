import type { ViewId } from '@millrace/contract/server-client';
import type { ComponentType, ReactNode } from 'react';
import { Link } from 'wouter';
import { usePathname } from 'wouter/use-browser-location';
import { Overview } from './pages/overview/overview.js';
import { Card } from './parts/card.js';
import { PageHead } from './parts/page-head.js';
import { hrefOf, type ViewPlace, type ViewProps, viewAt } from './rules/hrefs.js';
import { LoadedLate, useLoadedLate } from './shell/loaded-late.js';
import { ViewGuard } from './shell/view-guard.js';

type View = ComponentType<ViewProps>;

const chat = () => import('./pages/chat/chat.js').then(({ Chat }) => Chat);

/** The first view is there at once, the others come when they are wanted, or when there is nothing better to do. */
const PAGES: Readonly<Record<Exclude<ViewId, 'overview'>, () => Promise<View>>> = {
  groups: () => import('./pages/groups/groups.js').then(({ Groups }) => Groups),
  group: () => import('./pages/group/group.js').then(({ Group }) => Group),
  jobs: () => import('./pages/jobs/jobs.js').then(({ Jobs }) => Jobs),
  job: () => import('./pages/jobs/job.js').then(({ Job }) => Job),
  deadLetters: () => import('./pages/dead-letters/dead-letters.js').then(({ DeadLetters }) => DeadLetters),
  batches: () => import('./pages/batches/batches.js').then(({ Batches }) => Batches),
  batch: () => import('./pages/batch/batch.js').then(({ Batch }) => Batch),
  operations: () => import('./pages/operations/operations.js').then(({ Operations }) => Operations),
  operation: () => import('./pages/operations/operation.js').then(({ Operation }) => Operation),
  congestion: () => import('./pages/congestion/congestion.js').then(({ Congestion }) => Congestion),
  chat,
  chatSession: chat,
  workers: () => import('./pages/workers/workers.js').then(({ Workers }) => Workers),
};

const views = new LoadedLate<ViewId, View>(PAGES, { overview: Overview });

/** The view that the address names. */
export function Views(): ReactNode {
  // Not by the patterns of the router: it decodes an address before it looks at it, and then ids with % are others.
  const place = viewAt(usePathname());
  if (!place) return <NoView />;
  return (
    // Another view is another try; with and without a session the chat is one.
    <ViewGuard key={place.id.replace('chatSession', 'chat')}>
      <LoadedView {...place} />
    </ViewGuard>
  );
}

function LoadedView({ id, params }: ViewPlace): ReactNode {
  const Page = useLoadedLate(views, id);
  if (!Page) return <div className="view-awaited" role="status" aria-label="Loading" />;
  return <Page params={params} />;
}

function NoView(): ReactNode {
  return (
    <>
      <PageHead title="There is no such view" />
      <Card>
        <p>
          The address is not one of this page. <Link href={hrefOf('overview')}>Go to the overview</Link>.
        </p>
      </Card>
    </>
  );
}
