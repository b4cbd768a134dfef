import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useSyncExternalStore } from 'react';
import { isRefusal } from '../rules/problems.js';
import { isStaleAfter } from './freshness.js';
import { LiveFeed, type LiveState } from './live-feed.js';
import { followSeconds, lastSecond } from './seconds.js';
import { useSession } from './session.js';

const LiveContext = createContext<LiveFeed | undefined>(undefined);

/** Keeps everything below it up to date, by one stream for all of it. */
export function LiveProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const { client } = useSession();
  const queries = useQueryClient();
  const feed = useMemo(
    () =>
      new LiveFeed({
        client,
        // A question that is on its way is not asked a second time: slow answers would never be seen.
        onChange: (change) =>
          void queries.invalidateQueries(
            {
              // What was refused stays refused: asked anew, its problem would vanish and come back, and be read out each time.
              predicate: ({ queryKey: [id, request], state }) =>
                !isRefusal(state.error) && isStaleAfter(String(id), change, paramsOf(request)),
            },
            { cancelRefetch: false },
          ),
        onHello: () =>
          void queries.invalidateQueries(
            { predicate: ({ queryKey: [id] }) => id !== 'getCaller' },
            { cancelRefetch: false },
          ),
        // The gate asks for another key when this one is not good any more.
        onLockedOut: () => void queries.invalidateQueries({ queryKey: ['getCaller'] }),
      }),
    [client, queries],
  );
  useEffect(() => feed.follow(), [feed]);
  return <LiveContext value={feed}>{children}</LiveContext>;
}

/** As useAsk writes it. */
const paramsOf = (request: unknown): Readonly<Record<string, unknown>> =>
  (request as { readonly params?: Readonly<Record<string, unknown>> } | undefined)?.params ?? {};

/** Whether what is shown is what is, and how everything stands. */
export function useLive(): LiveState {
  const feed = useContext(LiveContext);
  if (!feed) throw new TypeError('useLive needs a LiveProvider above it');
  return useSyncExternalStore(feed.subscribe, feed.state);
}

/** The server's time in milliseconds since 1970, anew every second. */
export function useNow(): number {
  const { aheadMs } = useLive();
  return useSyncExternalStore(followSeconds, lastSecond) + aheadMs;
}
