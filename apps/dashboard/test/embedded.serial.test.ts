import { lookAt } from './look-at.js';
import { looks } from './looks.js';
import { batchesPage } from './pages/batches.js';
import { chatPage } from './pages/chat.js';
import { operationsPage } from './pages/operations.js';
import { overviewPage } from './pages/overview.js';
import { workersPage } from './pages/workers.js';

lookAt('embedded', {
  overview: overviewPage,
  batches: batchesPage,
  operations: operationsPage,
  chat: chatPage,
  workers: workersPage,
  looks,
});
