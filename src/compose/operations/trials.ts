import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type CanaryReturn, createTrialMetrics, TrialBook } from '../../backends/index.ts'
import { insertAuditEntry } from '../../platform/audit/index.ts'
import { systemRandomness } from '../../platform/runtime/index.ts'
import type { Infrastructure } from '../infrastructure.ts'

export type TrialParts = ReturnType<typeof composeTrials>

/** The states of the shadows and canaries of `backends`. */
export function composeTrials(infrastructure: Infrastructure, logger: Logger, registry: Registry) {
  const metrics = createTrialMetrics(registry)
  const onReturn = (returned: CanaryReturn, isOwn: boolean): void => {
    const { url: upstream, ...counts } = returned
    if (isOwn) {
      logger.warn({ upstream, ...counts }, 'canary returned: too many of its requests failed')
      auditReturn(infrastructure, returned)
    } else logger.warn({ upstream }, 'canary returned: another replica has decided')
  }
  return { book: new TrialBook({ ...infrastructure, metrics, onReturn }), metrics, randomness: systemRandomness }
}

function auditReturn({ database, background, clock, ids }: Infrastructure, { url, ...counts }: CanaryReturn): void {
  const at = clock.now()
  background.run('audit-canary', () =>
    insertAuditEntry(database, {
      at,
      portal: 'SYSTEM',
      actorId: null,
      workspaceId: null,
      action: 'backends.returnCanary',
      targetId: null,
      outcome: 'SUCCESS',
      requestId: ids.next(),
      clientIp: '',
      detail: { service: url, ...counts },
    }),
  )
}
