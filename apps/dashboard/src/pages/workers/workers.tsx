import type { InstanceBody } from '@millrace/contract';
import { type ReactNode, useState } from 'react';
import { useAsk } from '../../data/ask.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { PageHead } from '../../parts/page-head.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { fleetSum, isScaling } from '../../rules/fleet.js';
import { shownText } from '../../rules/written-json.js';
import { AuditLog } from './audit-log.js';
import { Backends } from './backends.js';
import { FleetStats } from './fleet-stats.js';
import { GoneInstances } from './gone-instances.js';
import { Instance } from './instance.js';
import { PoolWorkers } from './pool-workers.js';
import { ScalePool } from './scale-pool.js';
import './workers.css';

/** No change tells of instances: each says every few seconds how it is. */
const LOOK_EVERY_MS = 5_000;
/** Until what was asked for is seen to be done. */
const LOOK_SOON_MS = 1_000;

/** Who runs everything, what each runs, and whether what they need is well. */
export function Workers(): ReactNode {
  const { seesAll, may } = useSession();
  return (
    <>
      {seesAll ? <Fleet /> : <NotShown />}
      {may('admin') && <AuditLog />}
    </>
  );
}

const NOTE = 'Who runs everything, what each runs, and how what they need is';

/** Who is to be scaled: one, or all. */
type Scaled = InstanceBody | 'all' | undefined;

function Fleet(): ReactNode {
  const { may } = useSession();
  const [scaled, setScaled] = useState<Scaled>();
  const [isSoon, setSoon] = useState(false);
  const { data, error } = useAsk('listInstances', {}, { everyMs: isSoon ? LOOK_SOON_MS : LOOK_EVERY_MS });
  const all = data?.items;
  const live = all?.filter(({ alive }) => alive);
  const workers = live?.filter(({ workerCount }) => workerCount !== null) ?? [];
  const isScaled = workers.some(isScaling);
  if (isSoon !== isScaled) setSoon(isScaled);
  return (
    <>
      <PageHead title="Workers" note={NOTE}>
        {may('admin') && (
          <Button icon="settings" disabled={workers.length === 0} onClick={() => setScaled('all')}>
            Scale all
          </Button>
        )}
      </PageHead>
      <Backends />
      <FleetStats sum={all && fleetSum(all)} />
      {error && !data && <ProblemNote error={error} />}
      <section className="stack" aria-label="Instances">
        {!live && !error && <div className="workers-awaited" />}
        {live?.map((instance) => (
          <Instance
            key={instance.instanceId}
            instance={instance}
            onScale={may('admin') ? () => setScaled(instance) : undefined}
          />
        ))}
      </section>
      <PoolWorkers instances={all ?? []} />
      <GoneInstances instances={all?.filter(({ alive }) => !alive) ?? []} />
      {scaled && (
        <ScalePool
          instances={scaled === 'all' ? workers : [scaled]}
          isAll={scaled === 'all'}
          onClose={() => setScaled(undefined)}
        />
      )}
    </>
  );
}

function NotShown(): ReactNode {
  const { caller } = useSession();
  return (
    <>
      <PageHead title="Workers" note={NOTE} />
      <Card>
        <Empty title="Workers are shared by all tenants">
          Your key is limited to {shownText(caller.tenant ?? '')}, so what others run is not shown to it.
          Whoever gave it to you can look.
        </Empty>
      </Card>
    </>
  );
}
