import { packageVersion } from '../../config/env.ts'
import {
  buildSecurityHeaders,
  createOperationsApp,
  gatherStatus,
  type Probe,
  readReplicaStatus,
  readSharedStatus,
  statusQuestion,
} from '../../gateway/index.ts'
import { isRecord, toIso, toIsoOrNull } from '../../kernel/index.ts'
import { formatHead, readHead } from '../../platform/audit/index.ts'
import { countJobs } from '../../platform/jobs/index.ts'
import { outboxPage } from '../../platform/mail/index.ts'
import { joinReplicas, type Replicas } from '../../platform/replicas.ts'
import { replicaName } from '../../platform/runtime/index.ts'
import type { Parts } from '../portal.ts'

/*
 * The operations listener, with the questions that replicas ask each other: their state, and their records of a
 * request.
 */

interface OperationsParts extends Parts {
  probes: readonly Probe[]
  isDraining(): boolean
  /** The records of this process about a request, an event or an object, newest first. */
  explain(id: string): readonly object[]
  stack: AsyncDisposableStack
}

const explainQuestion = 'explain'
/** Of each replica. A client may use an id more than once. */
const maxExplanations = 20

export function composeOperations(parts: OperationsParts): ReturnType<typeof createOperationsApp> {
  const { infrastructure, settings, metrics, identity, logger, probes, isDraining, stack } = parts
  const deployment = settings.redisUrl ? new URL(settings.redisUrl.reveal()).pathname : null
  const replicas = joinReplicas(replicaName(), { ...infrastructure, deployment })
  stack.defer(() => replicas.close())
  answerQuestions(replicas, parts)
  return createOperationsApp({
    probes,
    isDraining,
    metrics,
    explain: (id) => gatherExplanations(replicas, id),
    status: () => gatherStatus(replicas, () => readShared(parts)),
    jwks: identity.jwks,
    outbox: infrastructure.outbox && outboxPage(infrastructure.outbox),
    securityHeaders: buildSecurityHeaders(),
    allowedHosts: settings.listen.operationsAllowedHosts,
    logger,
  })
}

function answerQuestions(replicas: Replicas, parts: OperationsParts): void {
  const { infrastructure, metrics, isGateway, domains, probes, isDraining, explain } = parts
  const { clock } = infrastructure
  const replica = {
    version: packageVersion(),
    role: isGateway ? ('gateway' as const) : ('domains' as const),
    startedAt: clock.now(),
    probes,
    isDraining,
    registry: metrics.registry,
    clock,
  }
  replicas.answer(statusQuestion, async () => {
    const verified = domains.service('operators')?.lastAuditVerification() ?? null
    const auditVerified = verified && {
      at: toIso(verified.checkedAt),
      intact: verified.broken === null,
      entriesChecked: verified.entriesChecked,
    }
    return { ...(await readReplicaStatus(replica)), auditVerified }
  })
  replicas.answer(explainQuestion, async (id) => explain(id).slice(0, maxExplanations))
}

function readShared({ infrastructure: { database, clock }, domains, metrics: { registry } }: Parts) {
  return readSharedStatus({
    registry,
    ledgerCheck: async () => {
      const last = await domains.ledger.readLastCheck()
      return last
        ? {
            checkedAt: toIso(last.at),
            wholeCheckedAt: toIsoOrNull(last.wholeVerifiedAt),
            discrepancies: last.broken?.violations ?? 0,
            brokenRule: last.broken?.rule ?? null,
          }
        : null
    },
    auditHead: async () => {
      const head = await readHead(database)
      return head ? formatHead(head) : null
    },
    jobs: () => countJobs(database, clock.now()),
  })
}

/** The entries of this replica first. */
async function gatherExplanations(replicas: Replicas, id: string) {
  const { answers, missing } = await replicas.gather(explainQuestion, id)
  const entries = answers.flatMap(({ replica, result }) =>
    Array.isArray(result) ? result.filter(isRecord).map((entry) => ({ ...entry, replica })) : [],
  )
  return { entries, missing: missing.map(({ replica }) => replica) }
}
