import { type ReactNode, useState } from 'react';
import { useAct } from '../../data/act.js';
import { useSession } from '../../data/session.js';
import { Dialog } from '../../parts/dialog.js';
import { Field } from '../../parts/field.js';
import { problemText } from '../../rules/problems.js';

/** Makes a conversation. */
export function NewSession({
  tenant: filtered,
  onMade,
  onClose,
}: {
  /** Whose conversations are shown; '' for all. */
  readonly tenant: string;
  readonly onMade: (sessionId: string) => void;
  readonly onClose: () => void;
}): ReactNode {
  const { seesAll } = useSession();
  const [name, setName] = useState('');
  const [tenant, setTenant] = useState(filtered);
  const act = useAct('createChatSession', { saysProblems: false });
  const make = () =>
    act.mutate(
      { body: { ...(name !== '' && { session_id: name }), ...(seesAll && tenant !== '' && { tenant }) } },
      { onSuccess: ({ session_id }) => onMade(session_id) },
    );
  return (
    <Dialog
      title="New session"
      confirm="Make the session"
      isBusy={act.isPending}
      problem={act.error ? problemText(act.error) : undefined}
      onConfirm={make}
      onClose={onClose}
    >
      <Field
        label="Name"
        value={name}
        maxLength={200}
        hint="Left empty, one is drawn. A session that has the name already is opened."
        onChange={(event) => setName(event.target.value)}
      />
      {seesAll && (
        <Field
          label="Tenant"
          value={tenant}
          maxLength={500}
          hint="Whose it is. Left empty, it is nobody’s."
          onChange={(event) => setTenant(event.target.value)}
        />
      )}
    </Dialog>
  );
}
