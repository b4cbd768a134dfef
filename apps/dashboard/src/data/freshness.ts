import type { ChangesEvent } from '@millrace/contract';
import type { RouteId } from '@millrace/contract/server-client';

type Hint = Pick<ChangesEvent, 'groups' | 'batches' | 'operations' | 'deadLetters' | 'more' | 'snapshot'>;
/** What was asked about: the parameters of the address. */
type About = Readonly<Record<string, unknown>>;
type IsStale = (hint: Hint, about: About) => boolean;

/** Numbers of groups move with nearly every event. */
const withGroups: IsStale = ({ groups, more, snapshot }) => groups.length > 0 || more || snapshot !== null;
const withBatches: IsStale = ({ batches, more }) => batches.length > 0 || more;
/** The picture of a large batch is asked for again only when this very one has changed. */
const withBatch: IsStale = ({ batches, more }, { batchId }) => batches.includes(String(batchId)) || more;
const withOperations: IsStale = ({ operations, more }) => operations.length > 0 || more;
const withOperation: IsStale = ({ operations, more }, { opId }) => operations.includes(String(opId)) || more;
/** A redrive empties them without a dead letter being new: then a group changes. */
const withDeadLetters: IsStale = ({ deadLetters, groups, more }) => deadLetters || groups.length > 0 || more;

/** Which answers may be old after which changes; what is not listed is asked for again by time alone. */
const CHANGES_WITH: Readonly<Partial<Record<RouteId, IsStale>>> = {
  listGroups: withGroups,
  getGroup: withGroups,
  getGroupResult: withGroups,
  getFairness: withGroups,
  getQueues: withGroups,
  getPool: withGroups,
  getCongestion: withGroups,
  listJobs: withGroups,
  getJob: withGroups,
  explainJob: withGroups,
  listDeadLetters: withDeadLetters,
  listBatches: withBatches,
  getBatch: withBatch,
  listBatchTasks: withBatch,
  listOperations: withOperations,
  getOperationStatus: withOperation,
};

/** Whether what a route answered may be old after a change. */
export const isStaleAfter = (id: string, hint: Hint, about: About = {}): boolean =>
  CHANGES_WITH[id as RouteId]?.(hint, about) ?? false;
