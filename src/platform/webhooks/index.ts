/**
 * Sends HTTP requests to receivers that strangers choose. Start with `sender.ts`. `addresses.ts` decides which addresses
 * are allowed (server-side request forgery), and `signature.ts` signs by Standard Webhooks. Depends on the kernel and
 * platform/runtime.
 */

export { isReceiverUrl, type ReceiverRules } from './addresses.ts'
export { createWebhookSender, type WebhookResponse, type WebhookSender } from './sender.ts'
export { formatWebhookSecret, parseWebhookSecret } from './signature.ts'
