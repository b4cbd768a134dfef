import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { useSession } from '../../data/session.js';
import { type TurnProgress, UNHEARD } from '../../rules/turn-progress.js';
import { TurnFeed } from './turn-feed.js';

const NOBODY = { subscribe: () => () => {}, progress: () => UNHEARD };

/**
 * How far a turn is, word by word.
 * @param taskId - undefined: no turn runs.
 * @param onEnd - told once when it is over.
 */
export function useTurn(
  sessionId: string,
  taskId: string | undefined,
  onEnd: (taskId: string, progress: TurnProgress) => void,
): TurnProgress {
  const { client } = useSession();
  const told = useRef(onEnd);
  useEffect(() => {
    told.current = onEnd;
  });
  const feed = useMemo(
    () =>
      taskId === undefined
        ? undefined
        : new TurnFeed({
            client,
            sessionId,
            taskId,
            onEnd: (progress) => told.current(taskId, progress),
          }),
    [client, sessionId, taskId],
  );
  useEffect(() => feed?.follow(), [feed]);
  const { subscribe, progress } = feed ?? NOBODY;
  return useSyncExternalStore(subscribe, progress);
}
