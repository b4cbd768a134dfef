import { InvalidArgumentError } from 'commander';

/** Names a dead letter. */
export interface LetterId {
  readonly groupId: string;
  readonly jobId: string;
}

/** The most that a server takes at once: DEAD_LETTER_IDS_MAX of the contract, which a test compares. */
export const LETTER_IDS_MAX = 200;

/**
 * Reads the ids of dead letters as `dlq list` shows them: `group/job`, or `tenant/group/job`.
 * @throws InvalidArgumentError where one of them is none, or there are too many.
 */
export function letterIds(text: string): readonly LetterId[] {
  const ids = text.split(',').map((id) => {
    const [, groupId, jobId] = /^(.+)\/([^/]+)$/.exec(id.trim()) ?? [];
    if (groupId === undefined || jobId === undefined)
      throw new InvalidArgumentError('They must be written group/job, as `millrace dlq list` shows them.');
    return { groupId, jobId };
  });
  // Each once: the same letter is moved once, and counted once.
  const once = [...new Map(ids.map((id) => [letterName(id), id])).values()];
  if (once.length > LETTER_IDS_MAX) throw new InvalidArgumentError(`They must be ${LETTER_IDS_MAX} at most.`);
  return once;
}

/** How a dead letter is written in a command. */
export const letterName = ({ groupId, jobId }: LetterId): string => `${groupId}/${jobId}`;
