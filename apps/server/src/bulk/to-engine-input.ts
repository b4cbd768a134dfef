import { ERRORS, type GroupInput, type GroupPatch, type JobInput } from '@millrace/bulk-action';
import type { GroupChangeRequest, GroupRequest, JobRequest } from '@millrace/contract';
import { resolveTenant, scopedId } from '../http/tenant-scope.js';
import type { Caller } from '../security/caller.js';

const dateOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(text);

/** Converts a job of a request to the engine's input. */
export const jobInput = ({ notBefore, deadline, ...job }: JobRequest): JobInput => ({
  ...job,
  ...(notBefore !== undefined && { notBefore: new Date(notBefore) }),
  ...(deadline !== undefined && { deadline: new Date(deadline) }),
});

/**
 * Converts a group of a request to the engine's input. If the key is limited to a tenant, the group belongs to that tenant and uses
 * its share.
 * @throws MillraceError `GROUP_NOT_FOUND` for an id of another tenant, `REQUEST_INVALID` for the name of one, `ID_INVALID`.
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

/** Converts the changes of a group to the engine's input. */
export const groupPatch = ({ deadline, paused: _, ...change }: GroupChangeRequest): GroupPatch => ({
  ...change,
  ...(deadline !== undefined && { deadline: deadline === null ? null : new Date(deadline) }),
});

/**
 * Converts the id of a group to the engine's form, `tenant/id`.
 * @param groupId - plain, or `tenant/id`.
 * @throws MillraceError `GROUP_NOT_FOUND` for an id of another tenant, `ID_INVALID`.
 */
export const groupRef = (caller: Pick<Caller, 'tenant'>, groupId: string): string =>
  scopedId(caller, groupId, (group) => ERRORS.create('GROUP_NOT_FOUND', { group }));
