import { lookAt } from './look-at.js';
import { congestionPage } from './pages/congestion.js';
import { deadLettersPage } from './pages/dead-letters.js';
import { groupPage } from './pages/group.js';
import { groupsPage } from './pages/groups.js';
import { jobsPage } from './pages/jobs.js';
import { overviewPage } from './pages/overview.js';
import { workersPage } from './pages/workers.js';

// A page does not know where work is kept: the stores have contract tests of their own. Here are the pages about what is kept in Redis,
// and those that show all at once.
lookAt('on Redis and PostgreSQL', {
  overview: overviewPage,
  groups: groupsPage,
  group: groupPage,
  jobs: jobsPage,
  'dead letters': deadLettersPage,
  congestion: congestionPage,
  workers: workersPage,
});
