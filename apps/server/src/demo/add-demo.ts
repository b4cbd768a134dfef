import type { ResolvedApp } from '../compose/load-app.js';
import { ERRORS } from '../errors.js';
import { demoApp } from './demo-app.js';
import type { DemoEnvironment } from './processors.js';

/**
 * An application with the demo beside it. A name that both have is refused: it would send the demo's work to code that does not expect it.
 * @param environment - what the demo's handlers need.
 * @throws MillraceError `APP_INVALID`.
 */
export function withDemo(app: ResolvedApp, environment: DemoEnvironment, file = 'given'): ResolvedApp {
  const demo = demoApp(environment);
  const taken = (kind: string, own: readonly string[], theirs: readonly string[]) => {
    const name = theirs.find((one) => own.includes(one));
    if (name === undefined) return;
    const reason = `the ${kind} ${name} belongs to the demo; choose another name`;
    throw ERRORS.create('APP_INVALID', { file, reason });
  };
  taken('processor', types(demo.processors), types(app.processors));
  taken('aggregator', types(demo.aggregators), types(app.aggregators));
  taken('DAG', names(demo.dags), names(app.dags));
  taken('route', Object.keys(demo.routes), Object.keys(app.routes));
  return {
    ...app,
    processors: [...app.processors, ...demo.processors],
    aggregators: [...app.aggregators, ...demo.aggregators],
    dags: [...app.dags, ...demo.dags],
    routes: { ...app.routes, ...demo.routes },
  };
}

const types = (parts: readonly { readonly type: string }[]) => parts.map(({ type }) => type);
const names = (parts: readonly { readonly name: string }[]) => parts.map(({ name }) => name);
