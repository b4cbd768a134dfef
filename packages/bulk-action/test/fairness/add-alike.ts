import type { BulkActionService } from '../../src/bulk-action-service.js';
import type { JobInput } from '../../src/model.js';

/** Makes the parts of a job that differ from the others. */
export type JobMaker = (index: number) => Partial<JobInput>;

/**
 * Adds jobs to a group; ids go on from where they are.
 * @param groupId - made when it does not exist.
 * @param count - how many.
 * @param jobOf - all alike unless it makes each.
 */
export async function addAlike(
  service: BulkActionService,
  groupId: string,
  count: number,
  jobOf: JobMaker = () => ({}),
): Promise<void> {
  const { registered } = await service.getProgress(groupId).catch(() => ({ registered: 0 }));
  const jobs = Array.from({ length: count }, (_, index) => ({
    id: `j${registered + index}`,
    processorType: 'work',
    ...jobOf(index),
  }));
  await service.addJobs(groupId, jobs);
}
