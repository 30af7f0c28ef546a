import { createHmac } from 'node:crypto'
import type { Instant } from '../../kernel/index.ts'

const secretPrefix = 'whsec_'

/** Returns the text of a secret for its receiver. Standard Webhooks requires 24 to 64 random bytes. */
export function formatWebhookSecret(secret: Uint8Array): string {
  return `${secretPrefix}${Buffer.from(secret).toString('base64')}`
}

/** Returns undefined unless the text is a secret of 24 to 64 bytes, as `formatWebhookSecret` writes it. */
export function parseWebhookSecret(text: string): Uint8Array | undefined {
  if (!text.startsWith(secretPrefix)) return undefined
  const base64 = text.slice(secretPrefix.length)
  const secret = Buffer.from(base64, 'base64')
  return secret.toString('base64') === base64 && secret.length >= 24 && secret.length <= 64 ? secret : undefined
}

export interface SignedMessage {
  /** The same for each attempt. */
  id: string
  at: Instant
  body: string
  /** The current secret, then the previous one while it is valid. */
  secrets: readonly Uint8Array[]
}

/** The headers of Standard Webhooks (https://www.standardwebhooks.com). */
export function signatureHeaders({ id, at, body, secrets }: SignedMessage): Record<string, string> {
  const timestamp = String(Math.floor(at / 1_000))
  const sign = (secret: Uint8Array) =>
    createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret)}`).join(' '),
  }
}
