import * as z from 'zod'
import {
  bizId,
  coded,
  codeOf,
  id,
  instant,
  line,
  orNone,
  partialUpdate,
  reason,
  timestamp,
  uniqueList,
} from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { member, operator } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, hours, operation, type RateGroups } from '../../kernel/index.ts'

export const summary = 'Webhooks, which send events to a server of the workspace or of the deployment.'

export const permissions = {
  workspace: { webhook: { sortOrder: 550, actions: ['read', 'manage'], peopleOnly: ['manage'], powers: ['manage'] } },
  operator: {
    webhook: { sortOrder: 1700, actions: ['read', 'manage', 'end'], powers: ['manage', 'end'] },
  },
} as const satisfies Permissions

export const rateGroups = {
  webhookSend: { account: { limit: 60, windowMs: hours(1) } },
  webhookReplay: { account: { limit: 60, windowMs: hours(1) } },
} as const satisfies RateGroups

export const webhookStatus = codedFamily('webhookStatus', {
  ACTIVE: 10096101,
  DISABLED: 10096102,
  FAILED: 10096103,
  SUSPENDED: 10096104,
  DELETED: 10096105,
})
export type WebhookStatus = CodeOf<typeof webhookStatus>

export const deliveryStatus = codedFamily('webhookDeliveryStatus', {
  PENDING: 10096201,
  DELIVERED: 10096202,
  FAILED: 10096203,
  WITHHELD: 10096204,
})
export type DeliveryStatus = CodeOf<typeof deliveryStatus>

/** All types that the person for whom the webhook acts can read. */
export const allTypes = '*'

/** The type of the event that `webhooks.test` sends. */
export const testType = 'webhook.test'

const Webhook = z.object({
  bizId,
  workspaceBizId: bizId.nullable().meta({ description: 'Null for a webhook of the deployment' }),
  url: z.string().meta({ description: 'Operators see the origin only, except for webhooks of the deployment' }),
  description: z.string(),
  eventTypes: z.array(z.string()),
  webhookStatus: coded(webhookStatus),
  createdBy: bizId,
  actsFor: bizId.meta({ description: 'Only events that this person can read are sent' }),
  failingSince: timestamp.nullable(),
  previousSecretUntil: timestamp.nullable().meta({ description: 'Until then, the previous secret also signs' }),
  createdAt: timestamp,
  updatedAt: timestamp,
})

const WebhookWithSecret = Webhook.extend({
  secret: z.string().meta({ description: 'The signing secret, `whsec_` and Base64. Portico never shows it again.' }),
})

const Delivery = z.object({
  bizId,
  webhookBizId: bizId,
  eventBizId: bizId.meta({ description: 'The header `webhook-id` of each attempt' }),
  eventType: z.string(),
  deliveryStatus: coded(deliveryStatus),
  attempts: z.int(),
  nextAttemptAt: timestamp.nullable(),
  lastAttemptAt: timestamp.nullable(),
  responseStatus: z.int().nullable(),
  responseBody: z.string().nullable().meta({ description: 'The first 4 KiB. Untrusted: never render it as HTML.' }),
  failure: z.string().nullable().meta({ description: 'Why no response came, such as `ADDRESS_REFUSED`' }),
  durationMs: z.int().nullable(),
  createdAt: timestamp,
})

const url = z
  .string()
  .min(1)
  .max(2_048)
  .meta({
    description: 'https, on port 443 or above 1023, without user, password and fragment. Its addresses must be public.',
    examples: ['https://example.com/webhooks'],
  })
const eventTypes = uniqueList(z.string().max(128), 200)
  .min(1)
  .refine((types) => !types.includes(allTypes) || types.length === 1)
  .meta({ description: '`*` alone for all events that the caller can read', examples: [['transfer.completed']] })

const WebhookRequest = z.strictObject({ url, eventTypes, description: orNone(line(128, 0)) })
const fields = { url: url.optional(), eventTypes: eventTypes.optional(), description: line(128, 0).optional() }
const OneWebhook = z.strictObject({ webhookBizId: id })

const reading = { ...member, workspace: 'required', permission: 'webhook:read' } as const
const managing = { ...member, workspace: 'required', permission: 'webhook:manage' } as const
const platform = { ...operator, permission: 'webhook:manage' } as const

const get = { method: 'GET', body: 'none' } as const
const listing = { ...get, path: '/webhooks', refuses: [] } as const
const change = {
  method: 'POST',
  body: OneWebhook,
  confirms: ['webhookBizId'],
  reply: Webhook,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const
const creation = {
  ...change,
  path: '/webhooks',
  body: WebhookRequest,
  confirms: ['url', 'eventTypes'],
  reply: WebhookWithSecret,
  refuses: ['STATE.CONFLICT'],
} as const
const update = {
  ...change,
  path: '/webhooks/update',
  body: partialUpdate(fields).safeExtend({ webhookBizId: id }),
  confirms: ['webhookBizId', 'url', 'eventTypes'],
} as const
const rotation = { ...change, path: '/webhooks/rotate-secret', reply: WebhookWithSecret } as const
const test = {
  method: 'POST',
  path: '/webhooks/test',
  body: OneWebhook,
  confirms: ['webhookBizId'],
  reply: Delivery,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const
const resending = {
  ...test,
  path: '/webhooks/resend',
  body: z.strictObject({ deliveryBizId: id }),
  confirms: ['deliveryBizId'],
} as const
const replaying = {
  ...test,
  path: '/webhooks/replay',
  body: z.strictObject({
    webhookBizId: id,
    since: instant.meta({ description: 'Events that are older than `events.retentionMs` are gone' }),
  }),
  confirms: ['webhookBizId', 'since'],
  reply: z.object({
    scheduled: z.int(),
    nextSince: timestamp
      .nullable()
      .meta({ description: 'The `since` of the next request, or null after the last event' }),
  }),
} as const
const deliveryList = {
  ...get,
  path: '/webhooks/{webhook_id}/deliveries',
  query: listQuery(['createdAt'], { deliveryStatus: codeOf(deliveryStatus).optional() }),
  reply: page(Delivery),
  refuses: ['RESOURCE.NOT_FOUND'],
} as const
const filters = { webhookStatus: codeOf(webhookStatus).optional() }

const ofMembers = { chains: ['consumer'] } as const
const ofOperators = { chains: ['system'] } as const
const memberChange = { ...change, ...ofMembers, policy: { ...managing, stepUp: 'maybe' } } as const
const platformChange = { ...change, ...ofOperators, policy: { ...platform, stepUp: 'maybe' } } as const

export const listWebhooks = operation({
  ...listing,
  ...ofMembers,
  id: 'webhooks.list',
  summary: 'List the webhooks of a workspace',
  policy: reading,
  query: listQuery(['createdAt', 'updatedAt'], filters),
  reply: page(Webhook),
})

export const listWebhookTypes = operation({
  ...get,
  ...ofMembers,
  id: 'webhooks.availableTypes',
  path: '/webhooks/available-types',
  summary: 'List the event types that the caller can send',
  policy: reading,
  reply: z.array(z.string()),
  refuses: [],
})

export const readWebhook = operation({
  ...get,
  ...ofMembers,
  id: 'webhooks.read',
  path: '/webhooks/{webhook_id}',
  summary: 'Read a webhook',
  policy: reading,
  reply: Webhook,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const createWebhook = operation({
  ...creation,
  ...ofMembers,
  id: 'webhooks.create',
  summary: 'Create a webhook and return its secret once',
  policy: { ...managing, stepUp: true },
})

export const updateWebhook = operation({
  ...update,
  ...ofMembers,
  id: 'webhooks.update',
  summary: 'Change a webhook',
  description: 'A changed URL and changed types need a step-up. The webhook then acts for the caller.',
  policy: { ...managing, stepUp: 'maybe' },
})

export const rotateWebhookSecret = operation({
  ...rotation,
  ...ofMembers,
  id: 'webhooks.rotateSecret',
  summary: 'Replace the secret of a webhook',
  policy: { ...managing, stepUp: true },
})

export const enableWebhook = operation({
  ...memberChange,
  id: 'webhooks.enable',
  path: '/webhooks/enable',
  summary: 'Enable a webhook',
  policy: { ...managing, stepUp: true },
})

export const disableWebhook = operation({
  ...memberChange,
  id: 'webhooks.disable',
  path: '/webhooks/disable',
  summary: 'Disable a webhook',
})

export const deleteWebhook = operation({
  ...memberChange,
  id: 'webhooks.delete',
  path: '/webhooks/delete',
  summary: 'Delete a webhook permanently',
})

export const testWebhook = operation({
  ...test,
  ...ofMembers,
  id: 'webhooks.test',
  summary: 'Send a test event to a webhook',
  policy: { ...managing, rate: 'webhookSend' },
})

export const listDeliveries = operation({
  ...deliveryList,
  ...ofMembers,
  id: 'webhooks.listDeliveries',
  summary: 'List the deliveries of a webhook',
  policy: reading,
})

export const resendDelivery = operation({
  ...resending,
  ...ofMembers,
  id: 'webhooks.resend',
  summary: 'Send a delivery again',
  policy: { ...managing, rate: 'webhookSend' },
})

export const replayEvents = operation({
  ...replaying,
  ...ofMembers,
  id: 'webhooks.replay',
  summary: 'Send the events since a time again',
  policy: { ...managing, rate: 'webhookReplay' },
})

export const listAllWebhooks = operation({
  ...listing,
  ...ofOperators,
  id: 'webhooks.listAll',
  summary: 'List the webhooks of all workspaces and the deployment',
  policy: { ...operator, permission: 'webhook:read' },
  query: listQuery(['createdAt', 'updatedAt'], { ...filters, workspaceId: id.optional(), webhookId: id.optional() }),
  reply: page(Webhook),
})

export const listAllDeliveries = operation({
  ...deliveryList,
  ...ofOperators,
  id: 'webhooks.listAllDeliveries',
  summary: 'List the deliveries of any webhook',
  policy: { ...operator, permission: 'webhook:read' },
})

const ending = {
  ...change,
  ...ofOperators,
  confirms: ['webhook_id'],
  policy: { ...operator, permission: 'webhook:end', stepUp: true },
  body: z.strictObject({ reason }),
} as const

export const disableAnyWebhook = operation({
  ...ending,
  id: 'webhooks.disableAny',
  path: '/webhooks/{webhook_id}/disable',
  summary: 'Disable a webhook of any workspace',
})

export const enableAnyWebhook = operation({
  ...ending,
  id: 'webhooks.enableAny',
  path: '/webhooks/{webhook_id}/enable',
  summary: 'Allow members to enable a webhook again',
})

export const createPlatformWebhook = operation({
  ...creation,
  ...ofOperators,
  id: 'webhooks.createPlatform',
  summary: 'Create a webhook for all workspaces',
  policy: { ...platform, stepUp: true },
})

export const updatePlatformWebhook = operation({
  ...update,
  ...ofOperators,
  id: 'webhooks.updatePlatform',
  summary: 'Change a webhook of the deployment',
  policy: { ...platform, stepUp: 'maybe' },
})

export const rotatePlatformSecret = operation({
  ...rotation,
  ...ofOperators,
  id: 'webhooks.rotatePlatformSecret',
  summary: 'Replace the secret of a webhook of the deployment',
  policy: { ...platform, stepUp: true },
})

export const enablePlatformWebhook = operation({
  ...platformChange,
  id: 'webhooks.enablePlatform',
  path: '/webhooks/enable',
  summary: 'Enable a webhook of the deployment',
  policy: { ...platform, stepUp: true },
})

export const disablePlatformWebhook = operation({
  ...platformChange,
  id: 'webhooks.disablePlatform',
  path: '/webhooks/disable',
  summary: 'Disable a webhook of the deployment',
})

export const deletePlatformWebhook = operation({
  ...platformChange,
  id: 'webhooks.deletePlatform',
  path: '/webhooks/delete',
  summary: 'Delete a webhook of the deployment permanently',
})

export const testPlatformWebhook = operation({
  ...test,
  ...ofOperators,
  id: 'webhooks.testPlatform',
  summary: 'Send a test event to a webhook of the deployment',
  policy: { ...platform, stepUp: true, rate: 'webhookSend' },
})

export const resendPlatformDelivery = operation({
  ...resending,
  ...ofOperators,
  id: 'webhooks.resendPlatform',
  summary: 'Send a delivery of the deployment again',
  policy: { ...platform, stepUp: true, rate: 'webhookSend' },
})

export const replayPlatformEvents = operation({
  ...replaying,
  ...ofOperators,
  id: 'webhooks.replayPlatform',
  summary: 'Send the events of all workspaces again',
  policy: { ...platform, stepUp: true, rate: 'webhookReplay' },
})
