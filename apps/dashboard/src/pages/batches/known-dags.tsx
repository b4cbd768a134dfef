import type { ReactNode } from 'react';
import { useAsk } from '../../data/ask.js';
import { counted } from '../../rules/amounts.js';
import { shownText } from '../../rules/written-json.js';

/** The DAGs that batches can be started of; choosing one shows its batches. */
export function KnownDags({
  chosen,
  onChoose,
}: {
  readonly chosen: string;
  readonly onChoose: (name: string) => void;
}): ReactNode {
  const { data } = useAsk('listDags', { query: {} });
  const dags = data?.items ?? [];
  return (
    <ul className="batches-dags" aria-label="DAGs">
      {dags.map(({ name, version, taskCount }) => (
        <li key={name}>
          <button
            type="button"
            className="batches-dag"
            aria-pressed={name === chosen}
            onClick={() => onChoose(name === chosen ? '' : name)}
          >
            <span className="unseen">Show batches of </span>
            <span className="mono">{shownText(name)}</span>{' '}
            <span className="quiet small">
              v{version}, {counted(taskCount, 'task')}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}
