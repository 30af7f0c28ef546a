import {
  type Clock,
  createConcurrencyLimiter,
  createHandlerTable,
  type HandlerTable,
  type Instant,
  mapPage,
  notFound,
  type Permission,
  type Portal,
  parseInterval,
  toIso,
  toIsoOrNull,
} from '../../kernel/index.ts'
import type { Gathered, Replicas } from '../../platform/replicas.ts'
import { shareRun } from '../operations/shared-run.ts'
import type { Status } from '../operations/status-schema.ts'
import * as contract from './contract.ts'
import { toMinuteViews, toStateViews } from './overview.ts'
import { mergeSelections, parseCursor, type RequestFilter, toExplanationViews, toRequestView } from './requests.ts'

/** The questions that replicas ask each other. */
export const questions = { explain: 'explain', requests: 'requests', traffic: 'traffic' } as const

/** Work of one kind that waits for operators. */
export interface ObservedQueue {
  queue: contract.OperatorQueue
  /** The caller needs it to see the queue. */
  listPermission: Permission
  /** The caller needs one of them to decide. */
  decidePermissions: readonly Permission[]
  count(): Promise<{ waiting: number; since: Instant | null }>
}

export interface ObservationPorts {
  replicas: Pick<Replicas, 'gather'>
  clock: Clock
  /** Of all replicas. */
  status(): Promise<Status>
  openSessions(): Promise<ReadonlyMap<Portal, number>>
  queues: readonly ObservedQueue[]
}

/** Replicas answer a limited number of questions at a time, and the operations listener needs some of them. */
const limits = { concurrency: 6, waiting: 24 }

/** For operators of the portal. They see less than the operations listener shows, because they do not run the gateway. */
export function observationHandlers({ replicas, clock, status, openSessions, queues }: ObservationPorts): HandlerTable {
  const { runLimited } = createConcurrencyLimiter(limits)
  const gather = (question: string, argument: string) => runLimited(() => replicas.gather(question, argument))
  const state = shareRun(() => Promise.all([gather(questions.traffic, ''), runLimited(status), openSessions()]))
  return createHandlerTable(contract, {
    listRequests: async ({ query }) => {
      const { pageSize, before, outcome, code, operation, accountId, workspaceId, requestId, ...times } = query
      const { from, to } = parseInterval(times)
      const filter: RequestFilter = {
        before: parseCursor(before),
        ...{ from, to, outcome, code, operation, account: accountId, workspace: workspaceId, id: requestId },
        limit: pageSize,
      }
      const { answers, missing } = await gather(questions.requests, JSON.stringify(filter))
      const page = mapPage(mergeSelections(answers, pageSize), toRequestView)
      return { ...page, missing: missing.map(toMissingView) }
    },
    readRequest: async ({ query }) => {
      const { answers, missing } = await gather(questions.explain, query.requestId)
      const decisions = toExplanationViews(answers)
      if (decisions.length === 0 && missing.length === 0) throw notFound('no replica knows the request')
      return { decisions, missing: missing.map(toMissingView) }
    },
    readOverview: async ({ caller: { permissions } }) => {
      const seen = queues.filter(({ listPermission }) => permissions.has(listPermission))
      const [[{ answers }, deployment, sessions], counts] = await Promise.all([
        state.now(),
        Promise.all(seen.map(async (queue) => ({ ...queue, ...(await queue.count()) }))),
      ])
      const now = clock.now()
      return {
        at: toIso(now),
        minutes: toMinuteViews(answers, now),
        ...toStateViews(deployment),
        sessions: [...sessions].map(([portal, open]) => ({ portal, open })),
        queues: counts.map(({ queue, waiting, since, decidePermissions }) => ({
          queue,
          waiting,
          oldestAt: toIsoOrNull(since),
          canDecide: decidePermissions.some((permission) => permissions.has(permission)),
        })),
      }
    },
  })
}

function toMissingView({ replica, lastSeenAt }: Gathered['missing'][number]) {
  return { replica, lastSeenAt: toIso(lastSeenAt) }
}
