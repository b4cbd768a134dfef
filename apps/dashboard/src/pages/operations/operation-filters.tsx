import type { ReactNode } from 'react';
import type { Filters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Choice } from '../../parts/field.js';
import { FilterField } from '../../parts/filter-field.js';
import { statusText } from '../../rules/tones.js';
import { FILTERS, type FilterName, STATES } from './list-query.js';

const TEXTS = [
  ['domain', 'Domain'],
  ['eventType', 'Event type'],
  ['bizKey', 'Business key'],
] as const satisfies readonly (readonly [name: FilterName, label: string])[];
/** For those who see more than one. */
const TENANT = ['tenant', 'Tenant'] as const;

/** Not a state of its own: those that failed by their work, not by a cancellation. */
const DEAD = 'dead';

/** What is listed. */
export function OperationFilters({ filters }: { readonly filters: Filters<FilterName> }): ReactNode {
  const { seesAll } = useSession();
  const { values, set } = filters;
  const texts = seesAll ? [...TEXTS, TENANT] : TEXTS;
  const isFiltered = FILTERS.some((name) => values[name] !== '');
  return (
    <search className="operations-filters" aria-label="What is listed">
      {texts.map(([name, label]) => (
        <FilterField key={name} label={label} value={values[name]} onTake={(text) => set({ [name]: text })} />
      ))}
      <Choice
        label="State"
        value={values.deadLetter === 'true' ? DEAD : values.state}
        options={[
          ['', 'Any state'],
          ...STATES.map((state) => [state, statusText(state)] as const),
          [DEAD, 'Dead letters'],
        ]}
        onChoose={(chosen) =>
          set(chosen === DEAD ? { state: '', deadLetter: 'true' } : { state: chosen, deadLetter: '' })
        }
      />
      <Button
        look="quiet"
        disabled={!isFiltered}
        onClick={() => set(Object.fromEntries(FILTERS.map((name) => [name, ''])))}
      >
        Show all
      </Button>
    </search>
  );
}
