import { QueryClient } from '@tanstack/react-query';

/** Keeps what was asked, and how it was answered; empty at first. */
export const emptyQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        // The client repeats what is worth repeating; the stream says when there is something new.
        retry: false,
        refetchOnWindowFocus: false,
        networkMode: 'always',
        staleTime: 1_000,
      },
      mutations: { networkMode: 'always' },
    },
  });
