import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Seen } from '../../data/seen-tenants.js';
import { Card } from '../../parts/card.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { ShareBar } from '../../parts/share-bar.js';
import { percentText } from '../../rules/amounts.js';
import { hrefOf } from '../../rules/hrefs.js';
import { isShort, shareScale } from '../../rules/seen-tenants.js';

const SHOWN = 8;

/** Who gets which share now. */
export function TopShares({ seen }: { readonly seen: Seen }): ReactNode {
  const { data, error, tenants } = seen;
  const shown = tenants.slice(0, SHOWN);
  const scale = shareScale(shown);
  return (
    <Card
      title="Shares"
      note="What each tenant gets; the mark is its fair share"
      aside={<Link href={hrefOf('groups')}>All tenants and groups</Link>}
    >
      {error && !data && <ProblemNote error={error} />}
      {data && shown.length === 0 && <Empty title="Nobody wants anything now" />}
      <ul className="top-shares">
        {shown.map((tenant) => (
          <li key={tenant.id}>
            <Link className="mono small" href={hrefOf('groups', undefined, { tenantId: tenant.id })}>
              {tenant.id}
            </Link>
            <ShareBar
              name={tenant.id}
              share={tenant.share}
              fairShare={tenant.fairShare}
              longest={scale}
              tone={isShort(tenant) ? 'hold' : 'run'}
            />
            <span className="number small">{percentText(tenant.share)}</span>
          </li>
        ))}
      </ul>
      {tenants.length > SHOWN && <p className="quiet small">and {tenants.length - SHOWN} more</p>}
    </Card>
  );
}
