import { type Clock, systemRng, TIMED_OUT, toWorkError, withDeadline } from '@millrace/foundation';
import { lateServices } from '../../../compose/app-services.js';
import { loadApp, resolveApp } from '../../../compose/load-app.js';
import { withDemo } from '../../../demo/add-demo.js';
import { pluralize } from '../../show/amounts.js';
import { type Finding, finding } from '../finding.js';

/** How long a module may take to load. */
const LOAD_MS = 10_000;

/** Loads the application as a server would, and starts nothing of it. */
export async function lookAtApp(file: string, clock: Clock): Promise<readonly Finding[]> {
  try {
    const given = await withDeadline(clock, LOAD_MS, loadApp(file));
    if (given === TIMED_OUT)
      return [unusable(`It has not loaded within ${LOAD_MS} ms: does it await something?`)];
    const app = resolveApp(given, lateServices().services, file);
    withDemo(app, { clock, rng: systemRng() }, file);
    const { processors, dags, routes } = app;
    const parts = [
      pluralize(processors.length, 'processor'),
      pluralize(dags.length, 'DAG'),
      pluralize(Object.keys(routes).length, 'route'),
    ];
    return [finding('ok', 'app', `The application ${file} loads: ${parts.join(', ')}`)];
  } catch (error) {
    return [unusable(toWorkError(error).message)];
  }
}

const unusable = (seen: string): Finding =>
  finding('failure', 'app', 'The application cannot be used', {
    seen,
    action: 'Correct the module, or the path to it (--app, MILLRACE_APP).',
  });
