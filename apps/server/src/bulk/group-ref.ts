import { ERRORS } from '@millrace/bulk-action';
import { scopedId } from '../http/tenant-scope.js';
import type { Caller } from '../security/caller.js';

/**
 * The id of a group as the engine takes it.
 * @param groupId - of the request: plain, or `tenant/id`.
 * @throws MillraceError `GROUP_NOT_FOUND` for another tenant's, `ID_INVALID`.
 */
export const groupRef = (caller: Pick<Caller, 'tenant'>, groupId: string): string =>
  scopedId(caller, groupId, (group) => ERRORS.create('GROUP_NOT_FOUND', { group }));
