import { z } from 'zod'
import { positive } from '../../config/values.ts'
import type { EventReader } from '../../contract/events/readers.ts'
import {
  addMs,
  conflict,
  days,
  denied,
  hours,
  type Instant,
  minutes,
  type Permission,
  type Randomness,
  toInstant,
} from '../../kernel/index.ts'
import type { WebhookResponse } from '../../platform/webhooks/index.ts'
import type { WebhookStatus } from './contract.ts'
import type { Scope, WebhookRow } from './store.ts'

export const webhookSettings = z.strictObject({
  maxPerWorkspace: positive.describe(
    'Maximum number of webhooks per workspace, and of webhooks of the deployment, not counting deleted webhooks. Creating a further webhook gets 409.',
  ),
  allowLoopback: z
    .boolean()
    .describe(
      'For development: webhooks can use loopback addresses such as `http://127.0.0.1:3000`. Production refuses to start with `true`, because members could then reach services of this machine.',
    ),
})
export type WebhookSettings = z.output<typeof webhookSettings>

/** How long requests are also signed with the previous secret. */
export const previousSecretMs = hours(24)

/** A webhook without a success for this time is disabled. */
export const maxFailingMs = days(5)

/** Pauses after each failed attempt: ten attempts in three days. */
const pausesMs = [5_000, minutes(5), minutes(30), hours(2), hours(5), hours(10), hours(14), hours(20), hours(24)]
const maxRetryAfterMs = hours(24)
/** In percent of a pause, so that webhooks do not retry together. */
const maxJitter = 10

/** Attempts that take longer use the workers of slow webhooks. */
const slowMs = 2_000

export const statusChanges = {
  enable: { from: ['DISABLED', 'FAILED', 'SUSPENDED'], to: 'ACTIVE' },
  disable: { from: ['ACTIVE', 'FAILED'], to: 'DISABLED' },
  delete: { from: ['ACTIVE', 'DISABLED', 'FAILED', 'SUSPENDED'], to: 'DELETED' },
} as const satisfies Record<string, { from: readonly WebhookStatus[]; to: WebhookStatus }>
export type WebhookCommand = keyof typeof statusChanges

export function assertStatus({ webhookStatus }: Pick<WebhookRow, 'webhookStatus'>, command: WebhookCommand): void {
  if (!statusChanges[command].from.some((status) => status === webhookStatus))
    throw conflict(`the webhook is ${webhookStatus}`)
}

/** Only an operator allows again what an operator disabled. */
export function assertNotDisabledByOperator({ operatorBizId }: Pick<WebhookRow, 'operatorBizId'>): void {
  if (operatorBizId !== null) throw denied('an operator disabled the webhook')
}

/** A webhook reads as its workspace's members do, or as operators. */
export function readerOf(scope: Scope, permissions: ReadonlySet<Permission>): EventReader {
  return { audience: scope === null ? 'operators' : 'workspace', permissions }
}

export function isSuccess({ status }: Pick<WebhookResponse, 'status'>): boolean {
  return status !== null && status >= 200 && status < 300
}

/** The receiver wants no further requests. */
export function isGone({ status }: Pick<WebhookResponse, 'status'>): boolean {
  return status === 410
}

export function isSlow(response: WebhookResponse): boolean {
  return !isSuccess(response) || response.durationMs > slowMs
}

/** When to try again after `attempts` failed ones, at the earliest when the receiver asks for it. Null after the last. */
export function nextAttemptAt(
  attempts: number,
  { retryAfter }: Pick<WebhookResponse, 'retryAfter'>,
  { at, randomness }: { at: Instant; randomness: Randomness },
): Instant | null {
  const pauseMs = pausesMs[attempts - 1]
  if (pauseMs === undefined) return null
  const jittered = pauseMs * (1 + randomness.integer(maxJitter * 100 + 1) / 10_000)
  const asked = retryAfter === null ? 0 : Math.min(retryAfterMs(retryAfter, at), maxRetryAfterMs)
  return addMs(at, Math.round(Math.max(jittered, asked)))
}

/** Seconds or a date (RFC 9110, 10.2.3). Anything else is ignored. */
function retryAfterMs(text: string, at: Instant): number {
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const date = Date.parse(text)
  return Number.isNaN(date) ? 0 : Math.max(0, toInstant(date) - at)
}
