import { type ReactNode, useState } from 'react';
import { LimitsFields } from '../../actions/limits-fields.js';
import { useAct } from '../../data/act.js';
import { Dialog } from '../../parts/dialog.js';
import { type Limits, limitsChange, typedLimits } from '../../rules/limits.js';
import { problemText } from '../../rules/problems.js';
import { shownText } from '../../rules/written-json.js';

/** What the dialog is about. */
export interface TenantDialogProps {
  /** As it was when the dialog was opened. */
  readonly tenant: Limits & { readonly id: string };
  readonly onClose: () => void;
}

/** Changes the weight of a tenant against others, and its limits; the shares follow within seconds. */
export function TenantDialog({ tenant, onClose }: TenantDialogProps): ReactNode {
  const [typed, setTyped] = useState(() => typedLimits(tenant));
  const change = useAct('changeTenant', {
    done: ({ id }) => `${shownText(id)} is changed: its share follows within seconds.`,
    saysProblems: false,
  });
  const save = () => {
    const body = limitsChange(tenant, typed);
    if (Object.keys(body).length === 0) onClose();
    else change.mutate({ params: { tenantId: tenant.id }, body }, { onSuccess: onClose });
  };
  return (
    <Dialog
      title={`Share and limits of ${shownText(tenant.id)}`}
      confirm="Save"
      isBusy={change.isPending}
      problem={change.error ? problemText(change.error) : undefined}
      onConfirm={save}
      onClose={onClose}
    >
      <LimitsFields typed={typed} onType={setTyped} weightHint="Twice the weight is twice the share" />
    </Dialog>
  );
}
