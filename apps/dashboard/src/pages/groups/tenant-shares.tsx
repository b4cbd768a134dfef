import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { type Seen, TOLD_MAX } from '../../data/seen-tenants.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { type Column, Table } from '../../parts/table.js';
import { counted, rateText, shortCount } from '../../rules/amounts.js';
import { hrefOf } from '../../rules/hrefs.js';
import { limitTexts, weightText } from '../../rules/limits.js';
import { isShort, type SeenTenant, shareScale } from '../../rules/seen-tenants.js';
import { shownText } from '../../rules/written-json.js';
import { Limits, ShareCell } from './cells.js';
import { ShareTrail } from './share-trail.js';
import { TenantDialog } from './tenant-dialog.js';

/** So many are seen at a glance; all others when they are wanted. */
const SHOWN_FIRST = 12;

const FAIR =
  'The bar is what a tenant gets now, the mark its fair share: what its weight is due among those who want something now.';

/** Who gets which share against what is theirs, live. */
export function TenantShares({ seen }: { readonly seen: Seen }): ReactNode {
  const { may, seesAll } = useSession();
  const [showsAll, setShowsAll] = useState(false);
  const [changed, setChanged] = useState<SeenTenant>();
  const { tenants, data, error } = seen;
  const shown = showsAll ? tenants : tenants.slice(0, SHOWN_FIRST);
  const change = may('admin') && seesAll ? setChanged : undefined;
  return (
    <Card title="Who gets which share" note={FAIR} aside={<Summary seen={seen} />} isFlush>
      {error && !data ? (
        <div className="groups-said">
          <ProblemNote error={error} />
        </div>
      ) : (
        <Table
          label="Shares of tenants"
          columns={columnsOf(shareScale(shown), seen.at, change)}
          rows={data && shown}
          rowKey={({ id }) => id}
          awaited={8}
          empty={<Empty title="Nobody wants anything now">Shares are shown while jobs run.</Empty>}
        />
      )}
      {tenants.length > SHOWN_FIRST && (
        <div className="groups-foot">
          <Button look="quiet" onClick={() => setShowsAll(!showsAll)}>
            {showsAll ? `Show the first ${SHOWN_FIRST}` : `Show all ${tenants.length}`}
          </Button>
          {data && data.tenants.length >= TOLD_MAX && (
            <span className="quiet small">The {TOLD_MAX} busiest are told of.</span>
          )}
        </div>
      )}
      {changed && <TenantDialog tenant={changed} onClose={() => setChanged(undefined)} />}
    </Card>
  );
}

/** Named up to here, counted beyond. */
const NAMED_MAX = 2;

function Summary({ seen: { data, tenants } }: { readonly seen: Seen }): ReactNode {
  if (!data) return null;
  const short = tenants.filter(isShort).map(({ id }) => shownText(id));
  const wanting = tenants.filter(({ fairShare }) => fairShare > 0).length;
  if (short.length === 0)
    return (
      <span className="quiet small number">
        {wanting === 0 ? 'Nobody wants' : counted(wanting, 'tenant wants', 'tenants want')} work done now
      </span>
    );
  const names = short.length <= NAMED_MAX ? short.join(' and ') : counted(short.length, 'tenant');
  return (
    <span className="tone-hold small">
      {names} {short.length === 1 ? 'gets' : 'get'} less than a fair share
    </span>
  );
}

function columnsOf(
  scale: number,
  at: number,
  change: ((tenant: SeenTenant) => void) | undefined,
): readonly Column<SeenTenant>[] {
  return [
    {
      key: 'tenant',
      title: 'Tenant',
      width: 'minmax(96px, 1.5fr)',
      cell: ({ id }) => (
        <Link
          className="mono small"
          title={shownText(id)}
          href={hrefOf('groups', undefined, { tenantId: id })}
        >
          {shownText(id)}
        </Link>
      ),
    },
    {
      key: 'share',
      title: 'Share',
      width: 'minmax(132px, 3fr)',
      cell: (tenant) => (
        <ShareCell
          name={shownText(tenant.id)}
          share={tenant.share}
          fairShare={tenant.fairShare}
          longest={scale}
          tone={isShort(tenant) ? 'hold' : 'run'}
        />
      ),
    },
    {
      key: 'trail',
      title: 'Last minute',
      width: '120px',
      isExtra: true,
      cell: ({ trail }) => <ShareTrail trail={trail} at={at} scale={scale} />,
    },
    number('weight', 'Weight', '54px', ({ weight }) => weightText(weight)),
    number('pending', 'Waiting', '64px', ({ pending }) => shortCount(pending)),
    number('inFlight', 'In flight', '60px', ({ inFlight }) => shortCount(inFlight)),
    number('served', 'Served /s', '66px', ({ servedPerSecond }) => rateText(servedPerSecond)),
    {
      key: 'limits',
      title: 'Limits',
      width: 'minmax(60px, 0.8fr)',
      isExtra: true,
      cell: (tenant) => <Limits texts={limitTexts(tenant)} />,
    },
    ...(change ? [changeColumn(change)] : []),
  ];
}

const number = (
  key: string,
  title: string,
  width: string,
  cell: (tenant: SeenTenant) => ReactNode,
): Column<SeenTenant> => ({ key, title, width, cell, isNumber: true, isExtra: true });

const changeColumn = (change: (tenant: SeenTenant) => void): Column<SeenTenant> => ({
  key: 'change',
  title: <span className="unseen">Change</span>,
  width: '32px',
  cell: (tenant) => (
    <Button look="quiet" icon="settings" iconOnly onClick={() => change(tenant)}>
      {`Weight and limits of ${shownText(tenant.id)}`}
    </Button>
  ),
});
