import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Views } from './app.js';
import { LiveProvider } from './data/live.js';
import { SessionGate } from './data/session.js';
import './look/base.css';
import { followTheme } from './look/theme.js';
import { Notices } from './parts/notices.js';
import { Awaiting, KeyEntry } from './shell/key-entry.js';
import { Shell } from './shell/shell.js';

followTheme();

const queries = new QueryClient({
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

const element = document.getElementById('page');
if (element)
  createRoot(element).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Notices>
          <SessionGate
            askForKey={(wanted) => <KeyEntry {...wanted} />}
            wait={(error) => <Awaiting error={error} />}
          >
            <LiveProvider>
              <Shell>
                <Views />
              </Shell>
            </LiveProvider>
          </SessionGate>
        </Notices>
      </QueryClientProvider>
    </StrictMode>,
  );
