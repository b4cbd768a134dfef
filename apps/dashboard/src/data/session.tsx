import {
  createServerClient,
  type ProblemError,
  type ResponseOf,
  type ServerClient,
} from '@millrace/contract/server-client';
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
import { isLockedOut, isRefusal } from '../rules/problems.js';
import { readKey, writeKey } from './stored-key.js';

/** Who looks, and what they may. */
type Caller = ResponseOf<'getCaller'>;
/** What a caller may: each what those before it may. */
type Role = Caller['role'];

const RANKS: Readonly<Record<Role, number>> = { read: 0, operate: 1, admin: 2 };

/** How the page talks to its server. */
export interface Session {
  readonly client: ServerClient;
  readonly apiKey: string | undefined;
  readonly caller: Caller;
  /** Whether buttons of this role are shown. The server judges every request itself. */
  may(role: Role): boolean;
  /** Whether what belongs to all tenants may be looked at. */
  readonly seesAll: boolean;
  forgetKey(): void;
}

const SessionContext = createContext<Session | undefined>(undefined);

/** Who looks. Below a SessionGate only. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new TypeError('useSession needs a SessionGate above it');
  return session;
}

/** Whoever is not let in must say who they are. */
export interface KeyWanted {
  readonly problem: ProblemError | undefined;
  readonly isTrying: boolean;
  give(key: string, options: { readonly remember: boolean }): void;
}

/** What stands between a stranger and the page. */
export interface SessionGateProps {
  readonly children: ReactNode;
  readonly askForKey: (wanted: KeyWanted) => ReactNode;
  /** While nobody has answered yet; with an error when nobody does. */
  readonly wait: (error: Error | undefined) => ReactNode;
}

const ASK_AGAIN_MS = 2_000;

/** Shows its children to those whom the server lets in. */
export function SessionGate(props: SessionGateProps): ReactNode {
  const [{ apiKey, number }, setEntry] = useState(() => ({ apiKey: readKey(), number: 0 }));
  const enter: Enter = (key, options) => {
    writeKey(key, options);
    setEntry((before) => ({ apiKey: key, number: before.number + 1 }));
  };
  // Another one for every key: what one was told must never be seen by the next.
  return <Entrance key={number} {...props} apiKey={apiKey} enter={enter} />;
}

/** Comes in with another key, or with none. */
type Enter = (key: string | undefined, options?: { readonly remember: boolean }) => void;

interface EntranceProps extends SessionGateProps {
  readonly apiKey: string | undefined;
  readonly enter: Enter;
}

const emptyQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        // The server client retries requests. The stream of changes invalidates stale answers.
        retry: false,
        refetchOnWindowFocus: false,
        networkMode: 'always',
        staleTime: 1_000,
      },
      mutations: { networkMode: 'always' },
    },
  });

/** The gate for one key. Holds the answers to requests made with this key. */
function Entrance({ children, askForKey, wait, apiKey, enter }: EntranceProps): ReactNode {
  const [queries] = useState(emptyQueries);
  const client = useMemo(
    () => createServerClient({ baseUrl: location.origin, ...(apiKey !== undefined && { apiKey }) }),
    [apiKey],
  );
  const { data, error, isFetching } = useQuery(
    {
      queryKey: ['getCaller'],
      queryFn: ({ signal }) => client.call('getCaller', {}, { signal }),
      refetchInterval: ({ state }) => (isRefusal(state.error) || state.data ? false : ASK_AGAIN_MS),
      staleTime: Number.POSITIVE_INFINITY,
    },
    queries,
  );
  const session = useMemo<Session | undefined>(
    () =>
      data && {
        client,
        apiKey,
        caller: data,
        may: (role) => RANKS[data.role] >= RANKS[role],
        seesAll: data.tenant === null,
        forgetKey: () => enter(undefined),
      },
    [client, apiKey, data, enter],
  );
  // Also whoever was let in before: keys change while pages are open.
  if (isLockedOut(error) || (isRefusal(error) && !session))
    return askForKey({
      problem: apiKey === undefined ? undefined : error,
      isTrying: isFetching,
      give: enter,
    });
  if (!session) return wait(error ?? undefined);
  return (
    <QueryClientProvider client={queries}>
      <SessionContext value={session}>{children}</SessionContext>
    </QueryClientProvider>
  );
}
