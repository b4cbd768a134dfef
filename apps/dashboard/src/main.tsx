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

const element = document.getElementById('page');
if (element)
  createRoot(element).render(
    <StrictMode>
      <SessionGate
        askForKey={(wanted) => <KeyEntry {...wanted} />}
        wait={(error) => <Awaiting error={error} />}
      >
        {/* Below the gate: what came of somebody's work is not for whoever comes with the next key. */}
        <Notices>
          <LiveProvider>
            <Shell>
              <Views />
            </Shell>
          </LiveProvider>
        </Notices>
      </SessionGate>
    </StrictMode>,
  );
