/** Injection token of the Orchestrator: `@Inject(ORCHESTRATOR) orchestrator: Orchestrator`. */
export const ORCHESTRATOR = Symbol('ORCHESTRATOR');
