import type { z } from 'zod'
import type { ShadowConfiguration } from '../../config/index.ts'
import type { Call, TrialUse } from '../../gateway/pipeline/call.ts'
import {
  type Code,
  createConcurrencyLimiter,
  type Durations,
  type MaybePromise,
  type Randomness,
  type Refusal,
} from '../../kernel/index.ts'
import type { ForwardedCaller } from '../call-assertion.ts'
import { Circuit } from '../upstream/circuit.ts'
import { sendRequest } from '../upstream/client.ts'
import { basePathOf, openPool, toConnectionRefusal } from '../upstream/connection.ts'
import { type IsCode, readReply, UpstreamRefusal } from '../upstream/reply.ts'
import { buildRequest, type ForwardedCall } from '../upstream/request.ts'
import { type Difference, ReplyComparison, rootPath } from './compare.ts'
import { isShadowed, type Shadow } from './copies.ts'
import type { DifferenceLog } from './difference-log.ts'
import type { TrialMetrics } from './metrics.ts'

export interface ShadowPorts {
  assertionOf(call: ForwardedCaller): MaybePromise<string>
  isCode: IsCode
  durations: Durations
  randomness: Randomness
  metrics: TrialMetrics
  differences: DifferenceLog
}

/** The replies to clients that wait for their comparison, in characters. */
const maxHeldLength = 16 * 1_024 ** 2

const shareSteps = 1_000_000

export function createShadow(settings: ShadowConfiguration, ports: ShadowPorts): Shadow {
  const { url, share, ignore, timeoutMs, maxReplyBytes, concurrency, queue, connections } = settings
  const { assertionOf, isCode, durations, randomness, metrics, differences } = ports
  const basePath = basePathOf(url)
  const pool = openPool({ ...settings, streamTimeoutMs: timeoutMs, maxStreamBytes: maxReplyBytes })
  // Nobody has to be woken for a shadow, so its circuit has no metrics.
  const circuit = new Circuit(settings.breaker, durations, () => undefined)
  const running = Math.min(concurrency, connections)
  const { runLimited } = createConcurrencyLimiter({ concurrency: running, waiting: queue })
  const comparisons = new Map<z.ZodType, ReplyComparison>()
  let pending = 0
  let heldLength = 0

  const comparisonOf = (schema: z.ZodType): ReplyComparison => {
    const comparison = comparisons.get(schema) ?? new ReplyComparison(schema, ignore)
    comparisons.set(schema, comparison)
    return comparison
  }

  const request = async (copy: Copy): Promise<unknown> => {
    const assertion = await assertionOf(copy)
    const { path, ...rest } = buildRequest(copy, assertion)
    const limits = { maxReplyBytes, durations, remainingMs: timeoutMs }
    const reply = await sendRequest(pool, { ...rest, path: basePath + path }, limits).catch((error: unknown) => {
      throw toConnectionRefusal(error)
    })
    return readReply(reply, isCode)
  }

  /** Throws if the shadow did not reply. */
  const compare = async (copy: Copy): Promise<Difference[]> => {
    const { main } = copy
    const received = await runLimited(() => circuit.run(copy, () => request(copy))).then(
      (data) => ({ data }),
      (error: unknown) => {
        if (error instanceof UpstreamRefusal) return { code: error.code }
        throw error
      },
    )
    if ('code' in received) {
      if (received.code === 'SYSTEM.UPSTREAM_INVALID_RESPONSE') return [{ kind: 'invalid', path: rootPath }]
      return 'code' in main && main.code === received.code ? [] : [{ kind: 'refusal', path: rootPath }]
    }
    if ('code' in main) return [{ kind: 'refusal', path: rootPath }]
    return comparisonOf(copy.schema).compare(main.text, received.data)
  }

  const run = async (copy: Copy, use: TrialUse): Promise<void> => {
    const { id } = copy.operation
    try {
      const found = await compare(copy)
      use.shadow = found.length > 0 ? 'different' : 'equal'
      for (const difference of found) {
        metrics.countDifference(id, difference.kind)
        differences.add(id, difference)
      }
    } catch {
      use.shadow = 'failed'
    }
    metrics.countShadow(id, use.shadow)
  }

  return {
    offer: (call, refusal, use) => {
      const copy = toCopy(call, refusal)
      if (!copy || randomness.integer(shareSteps) >= share * shareSteps) return
      const length = 'text' in copy.main ? copy.main.text.length : 0
      if (pending >= running + queue || length > maxReplyBytes || heldLength + length > maxHeldLength) {
        use.shadow = 'skipped'
        metrics.countShadow(copy.operation.id, 'skipped')
        return
      }
      use.shadow = 'pending'
      pending += 1
      heldLength += length
      void run(copy, use).finally(() => {
        pending -= 1
        heldLength -= length
      })
    },
    // Requests in progress have no clients.
    close: () => pool.destroy(),
  }
}

/** Without the connection and the headers of the client, which would stay in memory. */
interface Copy extends ForwardedCall, ForwardedCaller {
  clientIp: string
  schema: z.ZodType
  main: { text: string } | { code: Code }
}

/** Null for a request that is not copied. */
function toCopy(call: Call, refusal: Refusal | null): Copy | null {
  const { operation, reply } = call
  const { reply: schema } = operation
  if (!isShadowed(operation) || call.method !== 'GET' || typeof schema === 'string') return null
  // A failure of the backend says nothing about the shadow.
  if (refusal ? refusal.code.startsWith('SYSTEM.') : typeof reply !== 'string') return null
  const { params, input, requestId, idempotency, locale, clientIp, country, userAgent, trace } = call
  const { portal, caller, workspace } = call
  return {
    ...{ operation, params, input, requestId, idempotency, locale, clientIp, country, userAgent, trace },
    ...{ portal, caller, workspace, schema },
    main: refusal ? { code: refusal.code } : { text: typeof reply === 'string' ? reply : '' },
  }
}
