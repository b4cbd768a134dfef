import {
  type AnswerOf,
  createServerClient,
  ProblemError,
  type ServerClient,
} from '@millrace/contract/server-client';
import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
import { readKey, writeKey } from './stored-key.js';

/** Who looks, and what they may. */
type Caller = AnswerOf<'getCaller'>;
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
export function SessionGate({ children, askForKey, wait }: SessionGateProps): ReactNode {
  const [apiKey, setApiKey] = useState(readKey);
  const client = useMemo(
    () => createServerClient({ baseUrl: location.origin, ...(apiKey !== undefined && { apiKey }) }),
    [apiKey],
  );
  const { data, error, isFetching } = useQuery({
    queryKey: ['getCaller', apiKey ?? ''],
    queryFn: ({ signal }) => client.call('getCaller', {}, { signal }),
    refetchInterval: ({ state }) => (isRefusal(state.error) || state.data ? false : ASK_AGAIN_MS),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const session = useMemo<Session | undefined>(
    () =>
      data && {
        client,
        apiKey,
        caller: data,
        may: (role) => RANKS[data.role] >= RANKS[role],
        seesAll: data.tenant === null,
        forgetKey: () => {
          writeKey(undefined);
          setApiKey(undefined);
        },
      },
    [client, apiKey, data],
  );
  if (session) return <SessionContext value={session}>{children}</SessionContext>;
  if (!isRefusal(error)) return wait(error ?? undefined);
  const give: KeyWanted['give'] = (key, options) => {
    writeKey(key, options);
    setApiKey(key);
  };
  return askForKey({ problem: apiKey === undefined ? undefined : error, isTrying: isFetching, give });
}

/**
 * Whether a server that answers so will not answer otherwise by itself.
 * @param error - of a call; null: there was none.
 */
export const isRefusal = (error: Error | null): error is ProblemError =>
  error instanceof ProblemError && error.status >= 400 && error.status < 500 && error.status !== 429;
