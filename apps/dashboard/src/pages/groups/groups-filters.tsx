import { type ReactNode, useId, useState } from 'react';
import type { Filters } from '../../data/filters.js';
import { Button } from '../../parts/button.js';
import { Choice, Field } from '../../parts/field.js';
import { statusText } from '../../rules/tones.js';

/** What is looked for. */
export type GroupFilterName = 'status' | 'tenantId' | 'id';

/** The states of a group, as the API names them. */
export const GROUP_STATES = [
  'CREATED',
  'DISPATCHED',
  'RUNNING',
  'AGGREGATING',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
] as const;

/** The filters of groups, with the tenants that somebody may mean. */
export function GroupsFilters({
  filters: { values, set },
  tenants,
}: {
  readonly filters: Filters<GroupFilterName>;
  readonly tenants: readonly string[];
}): ReactNode {
  const isSet = values.status !== '' || values.tenantId !== '' || values.id !== '';
  return (
    <search className="row groups-filters" aria-label="Filters of groups">
      <Choice
        label="Status"
        value={values.status}
        options={[['', 'All states'], ...GROUP_STATES.map((state) => [state, statusText(state)] as const)]}
        onChoose={(status) => set({ status, id: '' })}
      />
      <TypedFilter
        label="Tenant"
        placeholder="Tenant, the whole name"
        value={values.tenantId}
        known={tenants}
        onGive={(tenantId) => set({ tenantId, id: '' })}
      />
      <TypedFilter
        label="Id of a group"
        placeholder="Group, the whole id"
        value={values.id}
        onGive={(id) => set({ id, status: '', tenantId: '' })}
      />
      {isSet && (
        <Button look="quiet" icon="close" onClick={() => set({ status: '', tenantId: '', id: '' })}>
          All groups
        </Button>
      )}
    </search>
  );
}

interface TypedFilterProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  /** What is offered; choosing one is enough. */
  readonly known?: readonly string[];
  readonly onGive: (value: string) => void;
}

/** A filter that is asked for when it is whole: with Enter, or when somebody goes on. */
function TypedFilter({ label, placeholder, value, known = [], onGive }: TypedFilterProps): ReactNode {
  const list = useId();
  const [typed, setTyped] = useState({ of: value, text: value });
  // Another value from outside, by a link or the way back, is shown.
  if (typed.of !== value) setTyped({ of: value, text: value });
  const give = (text: string) => {
    if (text.trim() !== value) onGive(text.trim());
  };
  const type = (text: string) => {
    setTyped({ of: value, text });
    if (text === '' || known.includes(text)) give(text);
  };
  return (
    <form
      className="groups-typed"
      onSubmit={(event) => {
        event.preventDefault();
        give(typed.text);
      }}
    >
      <Field
        isBare
        type="search"
        label={label}
        placeholder={placeholder}
        value={typed.text}
        list={known.length > 0 ? list : undefined}
        onChange={({ target }) => type(target.value)}
        onBlur={() => give(typed.text)}
      />
      <datalist id={list}>
        {known.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </form>
  );
}
