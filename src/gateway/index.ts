export { type AccessMemory, rememberAccess } from './access-memory.ts'
export { createAnswers } from './answer.ts'
export type { Stage } from './call.ts'
export { createDoor } from './door.ts'
export { closeListener } from './drain.ts'
export { createExplain } from './explain.ts'
export { faultDoor } from './fault-door.ts'
export { createOperationsApp, type Probe } from './operations-app.ts'
export { pageLog } from './page-log.ts'
export { referencePages } from './pages.ts'
export { refusalOf } from './refusal-of.ts'
export { type Finished, requestLog } from './request-log.ts'
export { createRouter } from './router.ts'
export { securityHeaders } from './security-headers.ts'
export { guardServer } from './server.ts'
export { stages } from './stages/index.ts'
/** Spans, loaded where they are wanted: a gateway that does not trace starts the sooner. */
export const loadTracing = () => import('./tracing.ts')
export type Tracing = Awaited<ReturnType<typeof loadTracing>>
