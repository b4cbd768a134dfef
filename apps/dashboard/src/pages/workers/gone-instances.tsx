import type { InstanceBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Card } from '../../parts/card.js';
import { Status } from '../../parts/status.js';
import { type Column, Table } from '../../parts/table.js';
import { Ago, Lasted } from '../../parts/when.js';
import { counted } from '../../rules/amounts.js';
import { instanceName, instanceState } from '../../rules/fleet.js';
import { shownText } from '../../rules/written-json.js';

const COLUMNS: readonly Column<InstanceBody>[] = [
  {
    key: 'name',
    title: 'Instance',
    width: 'minmax(120px, 2fr)',
    cell: (instance) => (
      <span title={shownText(instance.instanceId)}>{shownText(instanceName(instance))}</span>
    ),
  },
  { key: 'state', title: 'How', width: '110px', cell: (instance) => <Status {...instanceState(instance)} /> },
  { key: 'role', title: 'Role', width: '80px', isExtra: true, cell: ({ role }) => role },
  {
    key: 'version',
    title: 'Version',
    width: '100px',
    isExtra: true,
    cell: ({ version }) => shownText(version),
  },
  {
    key: 'ran',
    title: 'Ran for',
    width: '110px',
    isNumber: true,
    isExtra: true,
    cell: ({ startedAt, seenAt }) => <Lasted from={startedAt} to={seenAt} />,
  },
  {
    key: 'seen',
    title: 'Last seen',
    width: '100px',
    isNumber: true,
    cell: ({ seenAt }) => <Ago at={seenAt} />,
  },
];

/** Those that have not been heard of for a while; listed for a day. */
export function GoneInstances({ instances }: { readonly instances: readonly InstanceBody[] }): ReactNode {
  if (instances.length === 0) return null;
  return (
    <details className="workers-gone">
      <summary>{counted(instances.length, 'instance went', 'instances went')} in the last day</summary>
      <Card isFlush>
        <Table
          label="Instances that are gone"
          columns={COLUMNS}
          rows={instances}
          rowKey={({ instanceId }) => instanceId}
          empty=""
        />
      </Card>
    </details>
  );
}
