import { type Locale, toIso, toIsoOrNull, type Words } from '../../kernel/index.ts'
import { deliveryStatus, webhookStatus } from './contract.ts'
import type { DeliveryRow } from './delivery-store.ts'
import type { WebhookRow } from './store.ts'

/** Returns a webhook as clients see it, without its secret. */
export function toWebhookView(words: Words, row: WebhookRow, locale: Locale) {
  return {
    bizId: row.bizId,
    workspaceBizId: row.workspaceBizId,
    url: row.url,
    description: row.description,
    eventTypes: row.eventTypes,
    webhookStatus: words.coded(webhookStatus, row.webhookStatus, locale),
    createdBy: row.createdBy,
    actsFor: row.actsFor,
    failingSince: toIsoOrNull(row.failingSince),
    previousSecretUntil: toIsoOrNull(row.previousUntil),
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
  }
}

export function toDeliveryView(words: Words, row: DeliveryRow, locale: Locale) {
  return {
    bizId: row.bizId,
    webhookBizId: row.webhookBizId,
    eventBizId: row.eventBizId,
    eventType: row.eventType,
    deliveryStatus: words.coded(deliveryStatus, row.deliveryStatus, locale),
    attempts: row.attempts,
    nextAttemptAt: toIsoOrNull(row.nextAttemptAt),
    lastAttemptAt: toIsoOrNull(row.lastAttemptAt),
    responseStatus: row.responseStatus,
    responseBody: row.responseBody,
    failure: row.failure,
    durationMs: row.durationMs,
    createdAt: toIso(row.createdAt),
  }
}
