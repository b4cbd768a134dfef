import type { GroupInput, GroupPatch, JobInput } from '@millrace/bulk-action';
import type { GroupChangeRequest, GroupRequest, JobRequest } from '@millrace/contract';
import { resolveTenant } from '../http/tenant-scope.js';
import type { Caller } from '../security/caller.js';
import { groupRef } from './group-ref.js';

/* What came with a request, as the engine takes it. */

const dateOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(text);

/** A job. */
export const jobInput = ({ notBefore, deadline, ...job }: JobRequest): JobInput => ({
  ...job,
  ...(notBefore !== undefined && { notBefore: new Date(notBefore) }),
  ...(deadline !== undefined && { deadline: new Date(deadline) }),
});

/**
 * A group. One of a caller that is limited to a tenant is in that tenant's namespace and spends that tenant's share.
 * @throws MillraceError `GROUP_NOT_FOUND` for an id of another tenant, `REQUEST_INVALID` for its name, `ID_INVALID`.
 */
export function groupInput(
  { deadline, ...group }: GroupRequest,
  caller: Caller,
  traceparent: string | undefined,
): GroupInput {
  return {
    ...group,
    id: groupRef(caller, group.id),
    tenant: resolveTenant(caller, group.tenant),
    deadline: dateOf(deadline),
    traceparent,
  };
}

/** What is to change in a group. */
export const groupPatch = ({ deadline, paused: _, ...change }: GroupChangeRequest): GroupPatch => ({
  ...change,
  ...(deadline !== undefined && { deadline: deadline === null ? null : new Date(deadline) }),
});
