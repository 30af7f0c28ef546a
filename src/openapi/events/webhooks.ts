import * as z from 'zod'
import { CloudEventSchema, type EventRow } from '../../contract/events/event.ts'
import type { Catalogue } from '../../contract/index.ts'
import { isJsonObject, type JsonObject, reference } from '../json.ts'
import { toPascalCase } from '../names.ts'
import { toJsonSchema } from '../schemas.ts'
import type { SharedSchemas } from '../shared-schemas.ts'

/** The domain that sends them. */
const domain = 'webhooks'

/** No domain has this name: generators write a class per tag, and the second one of a name replaces the first. */
const webhookTag = { name: 'webhook requests', description: 'Requests that Portico sends to webhooks.' }

/** The headers of Standard Webhooks (https://www.standardwebhooks.com). */
export const webhookParameters: Record<string, JsonObject> = {
  WebhookId: toHeader('webhook-id', 'The id of the event. Repeated deliveries have the same id.'),
  WebhookTimestamp: toHeader(
    'webhook-timestamp',
    'The time of the attempt, in seconds since 1970. Reject old requests.',
  ),
  WebhookSignature: toHeader(
    'webhook-signature',
    'Signatures separated by blanks: `v1,` and the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` in Base64. ' +
      'While a secret is rotated, there are two.',
  ),
}

export function eventComponentOf(type: string): string {
  return `${toPascalCase(type)}Event`
}

/** Returns a component per type of events: the CloudEvent with the declared data. */
export function eventComponents(catalogue: Catalogue, schemas: SharedSchemas): Record<string, JsonObject> {
  return Object.fromEntries(
    [...catalogue.events].map(([type, { summary, data }]) => {
      const schema = toJsonSchema(catalogue, CloudEventSchema.extend({ type: z.literal(type), data }), 'output')
      return [eventComponentOf(type), { ...withTitle(schemas.refer(schema), type), description: summary }]
    }),
  )
}

/** Returns an entry per type of events: the request to a webhook, and the responses of a receiver. */
export function toWebhooks({ events, summaries }: Catalogue): JsonObject {
  if (!summaries.has(domain)) return {}
  return Object.fromEntries([...events].map(([type, row]) => [type, { post: toWebhook(type, row) }]))
}

/** The tag of the webhooks, if there are any. */
export function tagsOfWebhooks(webhooks: JsonObject): JsonObject[] {
  return Object.keys(webhooks).length > 0 ? [webhookTag] : []
}

function toWebhook(type: string, { owner, summary, audience, permission, operatorPermission }: EventRow): JsonObject {
  return {
    operationId: `webhook.${type}`,
    tags: [webhookTag.name],
    summary,
    security: [],
    parameters: Object.keys(webhookParameters).map((name) => reference('parameters', name)),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: reference('schemas', eventComponentOf(type)) } },
    },
    responses: {
      '2XX': { description: 'The receiver has accepted the event. Portico ignores the body.' },
      410: { description: 'The receiver wants no further events. Portico disables the webhook.' },
      default: { description: 'Portico sends the event again, for up to three days.' },
    },
    // No client calls it. OpenAPI Generator would write Python that does not compile.
    'x-internal': true,
    'x-portico': {
      owner,
      audience,
      ...(audience === 'workspace' && { permission }),
      ...(operatorPermission !== null && { operatorPermission }),
    },
  }
}

/** Names the data that several types about one kind of object have in common, unless an operation returns it, too. */
function withTitle(schema: JsonObject, type: string): JsonObject {
  const { properties } = schema
  const data = isJsonObject(properties) ? properties.data : null
  if (!isJsonObject(data) || data.type !== 'object' || !isJsonObject(properties)) return schema
  const title = `${toPascalCase(type.slice(0, type.indexOf('.')))}Data`
  return { ...schema, properties: { ...properties, data: { ...data, title } } }
}

function toHeader(name: string, description: string): JsonObject {
  return { name, in: 'header', required: true, description, schema: { type: 'string' } }
}
