import { fileURLToPath } from 'node:url';
import { loadApp } from '../../compose/load-app.js';
import { type App, defineApp } from '../../define-app.js';
import type { ToSupervisor } from './join-supervisor.js';

/**
 * Loads an application and watches the modules that it runs on threads: threads import them out of sight.
 * @throws MillraceError `APP_INVALID`.
 */
export async function loadWatched(file: string, supervisor: ToSupervisor): Promise<App> {
  const given = await loadApp(file);
  return defineApp((services) => {
    const parts = typeof given === 'function' ? given(services) : given;
    // What is no application is refused by whoever resolves it.
    const processors = Array.isArray(parts?.processors) ? parts.processors : [];
    const modules = processors.map((processor) => String(processor?.thread?.module));
    supervisor.watch(modules.filter((module) => module.startsWith('file:')).map((url) => fileURLToPath(url)));
    return parts;
  });
}
