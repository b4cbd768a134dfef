import type { ReactNode } from 'react';
import { PageHead } from '../../parts/page-head.js';
import './groups.css';
import { useSeenTenants } from '../../data/seen-tenants.js';
import { GroupsList } from './groups-list.js';
import { TenantShares } from './tenant-shares.js';

/** Who gets which share, and the groups with everything that holds them back. */
export function Groups(): ReactNode {
  const seen = useSeenTenants();
  return (
    <>
      <PageHead title="Groups" note="Who gets which share, how far each group is, and what holds it back" />
      <TenantShares seen={seen} />
      <GroupsList seen={seen} />
    </>
  );
}
