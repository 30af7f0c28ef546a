import type { TrialState } from '../../backends/index.ts'
import { packageVersion } from '../../config/env.ts'
import { portalNames } from '../../config/index.ts'
import {
  appNameOf,
  appUrls,
  buildSecurityHeaders,
  createOperationsApp,
  type ExplainLog,
  gatherStatus,
  type ObservedQueue,
  observationHandlers,
  type Probe,
  questions,
  RequestFilter,
  readReplicaStatus,
  readSharedStatus,
  selectRequests,
  statusQuestion,
  type Traffic,
} from '../../gateway/index.ts'
import { countOpenSessions } from '../../identity/index.ts'
import { type HandlerTable, type Instant, isRecord, toIso, toIsoOrNull } from '../../kernel/index.ts'
import type { OrderType } from '../../ledger/contract.ts'
import { countWaitingOrders } from '../../ledger/index.ts'
import { formatHead, readHead } from '../../platform/audit/index.ts'
import { countJobs } from '../../platform/jobs/index.ts'
import { outboxPage } from '../../platform/mail/index.ts'
import { joinReplicas, type Replicas } from '../../platform/replicas.ts'
import { replicaName } from '../../platform/runtime/index.ts'
import type { Parts } from '../portal.ts'

/*
 * The operations listener, and the operations that show operators of the portal a part of it, with the questions that
 * replicas ask each other: their state, and their records of requests.
 */

interface OperationsParts extends Parts {
  replicas: Replicas
  probes: readonly Probe[]
  isDraining(): boolean
  /** Whether a supervisor adds the metrics of several workers up. */
  isWorker: boolean
  requests: Pick<ExplainLog, 'find'>
  traffic: Traffic
  trialStates(): readonly TrialState[]
  /** The records of this process about a request, an event or an object, newest first. */
  explain(id: string): readonly object[]
}

/** Of each replica. A client may use an id more than once. */
const maxExplanations = 20
/** On the index page. */
const maxLastRequests = 50

/** Until `composeOperations`, this process does not answer the questions of other replicas. */
export function composeReplicas(
  { infrastructure, settings }: Pick<Parts, 'infrastructure' | 'settings'>,
  stack: AsyncDisposableStack,
): Replicas {
  const deployment = settings.redisUrl ? new URL(settings.redisUrl.reveal()).pathname : null
  const replicas = joinReplicas(replicaName(), { ...infrastructure, deployment })
  stack.defer(() => replicas.close())
  return replicas
}

export function composeOperations(parts: OperationsParts): ReturnType<typeof createOperationsApp> {
  const { replicas, infrastructure, settings, metrics, identity, logger, probes, isDraining } = parts
  const { self, isGateway, requests } = parts
  const startedAt = infrastructure.clock.now()
  answerQuestions(parts, startedAt)
  return createOperationsApp({
    probes,
    isDraining,
    isWorker: parts.isWorker,
    metrics,
    explain: (id) => gatherExplanations(replicas, id),
    status: () => readStatus(parts, replicas),
    jwks: identity.jwks,
    outbox: infrastructure.outbox && outboxPage(infrastructure.outbox),
    index: {
      ...self,
      role: isGateway ? 'gateway' : 'domains',
      startedAt,
      links: isGateway ? linksOf(settings) : [],
      lastRequests: () => requests.find(() => true).slice(0, maxLastRequests),
    },
    securityHeaders: buildSecurityHeaders(),
    allowedHosts: settings.listen.operationsAllowedHosts,
    logger,
  })
}

/** The operations that show operators of the portal what the gateways do. */
export function composeObservations(parts: Parts, replicas: Replicas): HandlerTable {
  const { database, clock } = parts.infrastructure
  return observationHandlers({
    replicas,
    clock,
    status: () => readStatus(parts, replicas),
    openSessions: () => countOpenSessions(database, portalNames(parts.settings.portals), clock.now()),
    queues: queuesOf(parts),
  })
}

/** Of all replicas. */
function readStatus(parts: Pick<Parts, 'infrastructure' | 'domains' | 'metrics'>, replicas: Replicas) {
  return gatherStatus(replicas, () => readShared(parts))
}

function linksOf({ publicUrl, portals, reference }: Parts['settings']) {
  const apps = appUrls({ publicUrl, portals })
  return [
    ...[...apps].map(([portal, href]) => ({ href, text: appNameOf(portals, portal) })),
    ...(reference.enabled ? [{ href: `${publicUrl.replace(/\/$/, '')}/docs`, text: 'API reference' }] : []),
  ]
}

function answerQuestions(parts: OperationsParts, startedAt: Instant): void {
  const { replicas, infrastructure, metrics, isGateway, domains, probes, isDraining, explain } = parts
  const { requests, traffic } = parts
  const { clock } = infrastructure
  const replica = {
    version: packageVersion(),
    role: isGateway ? ('gateway' as const) : ('domains' as const),
    startedAt,
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
    return { ...(await readReplicaStatus(replica)), auditVerified, trials: parts.trialStates() }
  })
  replicas.answer(questions.explain, async (id) => explain(id).slice(0, maxExplanations))
  // A domain service would count each request of a gateway again.
  replicas.answer(questions.requests, async (filter) =>
    isGateway ? selectRequests(requests, RequestFilter.parse(JSON.parse(filter))) : null,
  )
  replicas.answer(questions.traffic, async () => (isGateway ? traffic.read() : null))
}

function readShared({
  infrastructure: { database, clock },
  domains,
  metrics: { registry },
}: Pick<Parts, 'infrastructure' | 'domains' | 'metrics'>) {
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
  const { answers, missing } = await replicas.gather(questions.explain, id)
  const entries = answers.flatMap(({ replica, result }) =>
    Array.isArray(result) ? result.filter(isRecord).map((entry) => ({ ...entry, replica })) : [],
  )
  return { entries, missing: missing.map(({ replica }) => replica) }
}

/** Without those of domains that are off. */
function queuesOf({ domains, infrastructure: { database } }: Parts): ObservedQueue[] {
  const orders = (domain: string, type: OrderType, status: string) =>
    domains.names.has(domain) ? () => countWaitingOrders(database, { type, status }) : undefined
  const operators = domains.service('operators')
  const queues: (Omit<ObservedQueue, 'count'> & { count: ObservedQueue['count'] | undefined })[] = [
    {
      queue: 'TRANSFER_APPROVAL',
      listPermission: 'transfer:read',
      decidePermissions: ['transfer:approve'],
      count: orders('transfers', 'TRANSFER', 'PENDING_APPROVAL'),
    },
    {
      queue: 'RECHARGE_CONFIRMATION',
      listPermission: 'recharge:read',
      decidePermissions: ['recharge:approve'],
      count: orders('recharges', 'RECHARGE', 'PROOF_SUBMITTED'),
    },
    {
      queue: 'WITHDRAWAL_APPROVAL',
      listPermission: 'withdrawal:read',
      decidePermissions: ['withdrawal:approve'],
      count: orders('withdrawals', 'WITHDRAWAL', 'PENDING_APPROVAL'),
    },
    {
      queue: 'WITHDRAWAL_SETTLEMENT',
      listPermission: 'withdrawal:read',
      decidePermissions: ['withdrawal:settle'],
      count: orders('withdrawals', 'WITHDRAWAL', 'PROCESSING'),
    },
    {
      queue: 'PAYOUT_ACCOUNT_VERIFICATION',
      listPermission: 'withdrawal-channel:read',
      decidePermissions: ['withdrawal-channel:verify'],
      count: domains.service('withdrawalChannels')?.countUnverified,
    },
    {
      queue: 'ACCOUNT_APPROVAL',
      listPermission: 'account:read',
      decidePermissions: ['account:approve'],
      count: operators && (async () => sumOf((await operators.countPendingApprovals()).values())),
    },
    {
      queue: 'PROPOSAL_CONFIRMATION',
      listPermission: 'operator:read',
      decidePermissions: ['operator:manage', 'recovery:manage'],
      count: domains.service('proposals')?.countPending,
    },
  ]
  return queues.flatMap(({ count, ...queue }) => (count ? [{ ...queue, count }] : []))
}

/** Over the portals. */
function sumOf(pending: Iterable<{ accounts: number; since: Instant }>): { waiting: number; since: Instant | null } {
  let [waiting, oldest]: [number, Instant | null] = [0, null]
  for (const { accounts, since } of pending) {
    waiting += accounts
    if (oldest === null || since < oldest) oldest = since
  }
  return { waiting, since: oldest }
}
