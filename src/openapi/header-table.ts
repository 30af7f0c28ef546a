import { type HeaderDefinition, headers } from '../contract/headers.ts'
import { isSealable, observedErrors } from '../contract/policies.ts'

import { type Chain, locales, type Operation } from '../kernel/index.ts'
import { type JsonObject, reference, toJsonObject } from './json.ts'

type Presence = 'required' | 'optional' | 'none'
/** `isSealed`: the document describes the secure channel. */
type Rule = (operation: Operation, chain: Chain, isSealed: boolean) => Presence

export interface HeaderRow {
  name: string
  description: string
  schema: JsonObject
  example?: string
  /** The stages of the pipeline enforce the same rule. */
  rule: Rule
}

/** The edge adds these. A client that sends them is one behind no edge, as in development. */
const byEdge: Rule = (_, { perimeter }) => (perimeter === 'portal' ? 'optional' : 'none')
const behindPortal: Rule = (_, { perimeter }) => (perimeter === 'portal' ? 'required' : 'none')
const ofStreams: Rule = ({ reply }) => (reply === 'stream' || reply === 'raw' ? 'optional' : 'none')
const ofChannel: Rule = (operation, chain, isSealed) => (isSealed && isSealable(operation, chain) ? 'optional' : 'none')
const ofWorkspace: Rule = ({ policy }, { perimeter }) =>
  policy.workspace === 'required' && perimeter !== 'portal' ? 'optional' : policy.workspace

/** The pipeline checks the same names and schemas. */
export const headerTable: Record<string, HeaderRow> = {
  PortalAccessCode: {
    ...declared(headers.portalAccessCode),
    description: 'Portal access code.',
    example: 'consumer-dev',
    rule: (operation, chain, isSealed) =>
      chain.portal === 'SYSTEM' ? 'none' : behindPortal(operation, chain, isSealed),
  },
  SystemAccessCode: {
    ...declared(headers.portalAccessCode),
    description: 'Access code of the SYSTEM portal.',
    example: 'system-dev',
    rule: (operation, chain, isSealed) =>
      chain.portal === 'SYSTEM' ? behindPortal(operation, chain, isSealed) : 'none',
  },
  RequestId: {
    ...declared(headers.requestId),
    description:
      'Unique request id, repeated in the response. It is the idempotency key of a command without `Idempotency-Key`.',
    example: '8f0c3a52-6f2d-4b55-9a5c-0d4b8f6f6c11',
    rule: ({ policy }, { perimeter }) => (perimeter === 'portal' || policy.idempotent ? 'required' : 'optional'),
  },
  // Without an example, which pages and generated code would send with every command.
  IdempotencyKey: {
    ...declared(headers.idempotencyKey),
    description:
      'Idempotency key, with or without quotes, repeated in the response. Within 24 hours, the same key with the same body ' +
      'returns the first response, and with another body it is rejected.',
    rule: ({ policy }) => (policy.idempotent ? 'optional' : 'none'),
  },
  ClientHash: {
    ...declared(headers.clientHash),
    description: 'Client fingerprint. Use the same value during a sign-in and for as long as its tokens are used.',
    example: '3q2-7wFhb0nq8nT0kP5o',
    rule: (_, { perimeter }) => (perimeter === 'machine' ? 'optional' : 'required'),
  },
  ForwardedProto: {
    ...declared(headers.forwardedProto),
    description: 'Protocol. The edge proxy sets it.',
    example: 'https',
    rule: byEdge,
  },
  ConnectingIp: {
    ...declared(headers.connectingIp),
    description: 'Client address, IPv4 or IPv6. The edge proxy sets it.',
    example: '203.0.113.7',
    rule: byEdge,
  },
  Ray: {
    ...declared(headers.ray),
    description: 'Request id of the edge proxy, which sets it.',
    example: '8f3a1b2c3d4e5f60',
    rule: byEdge,
  },
  IpCountry: {
    ...declared(headers.ipCountry),
    description: 'Client country. The edge proxy sets it.',
    example: 'DE',
    rule: byEdge,
  },
  Locale: {
    ...declared(headers.locale),
    description: `Language of labels and messages: ${locales.join(', ')}; any other value means en.`,
    example: 'en',
    rule: behindPortal,
  },
  MachineLocale: {
    ...declared(headers.machineLocale),
    description: `Language of labels and messages: ${locales.join(', ')}; any other value means en.`,
    example: 'en',
    rule: (_, { perimeter }) => (perimeter === 'machine' ? 'optional' : 'none'),
  },
  AcceptLanguage: {
    ...declared(headers.acceptLanguage),
    description: `Language of messages: ${locales.join(', ')}; default en.`,
    example: 'en',
    rule: (_, { perimeter }) => (perimeter === 'self' ? 'optional' : 'none'),
  },
  WorkspaceId: {
    ...declared(headers.workspaceId),
    description:
      'Workspace of the request, by its `bizId`. Where it is optional, the default is the account’s default workspace, ' +
      'or the workspace of the API key.',
    rule: ofWorkspace,
  },
  ChannelSession: {
    ...declared(headers.channelSession),
    description: 'Secure channel session. If it is set, the body is sealed: `{payload}`.',
    rule: (operation, chain, isSealed) => (endsChannel(operation) ? 'optional' : ofChannel(operation, chain, isSealed)),
  },
  ChannelReply: {
    ...declared(headers.channelReply),
    description: '`encrypted` to receive `data` sealed under the session’s key, as `{payload}`.',
    rule: ofChannel,
  },
  ShortChannelSession: {
    ...declared(headers.shortChannelSession),
    description: 'Alias of X-Secure-Channel-Session-Id.',
    rule: (operation) => (endsChannel(operation) ? 'optional' : 'none'),
  },
  Range: { ...declared(headers.range), description: 'Byte range to return.', rule: ofStreams },
  IfNoneMatch: {
    ...declared(headers.ifNoneMatch),
    description: 'ETag of the copy that the caller has.',
    rule: ofStreams,
  },
  IfRange: {
    ...declared(headers.ifRange),
    description: 'ETag of the file that the requested range belongs to.',
    rule: ofStreams,
  },
  SocketProtocol: {
    ...declared(headers.socketProtocol),
    description: 'Subprotocols of the WebSocket. They can carry headers that a browser cannot set.',
    rule: ({ reply }) => (reply === 'socket' ? 'optional' : 'none'),
  },
  LastEventId: {
    ...declared(headers.lastEventId),
    description: 'Id of the last event that the client received. The service continues after it.',
    rule: ({ reply }) => (reply === 'events' ? 'optional' : 'none'),
  },
}

/** The schemas of headers with fixed values. For an inline schema, some generators create a type per operation. */
export function headerSchemas(): Record<string, JsonObject> {
  return Object.fromEntries(
    Object.entries(headerTable).flatMap(([key, row]) => (hasValues(row) ? [[key, row.schema]] : [])),
  )
}

/** Two components per header, one required and one optional. */
export function headerComponents(workspaceId?: string): Record<string, JsonObject> {
  return Object.fromEntries(
    Object.entries(headerTable).flatMap(([key, declared]) => {
      const row = {
        ...declared,
        ...(hasValues(declared) && { schema: reference('schemas', key) }),
        ...(key === 'WorkspaceId' && workspaceId !== undefined && { example: workspaceId }),
      }
      return [
        [key, toHeaderParameter(row, true)],
        [`Optional${key}`, toHeaderParameter(row, false)],
      ]
    }),
  )
}

function declared({ name, schema }: HeaderDefinition) {
  return { name, schema: toJsonObject(schema) }
}

function endsChannel({ id }: Operation): boolean {
  return observedErrors.get(id)?.condition === 'no-channel-session'
}

function hasValues({ schema }: HeaderRow): boolean {
  return schema.enum !== undefined
}

function toHeaderParameter({ name, description, schema, example }: HeaderRow, required: boolean): JsonObject {
  return {
    name,
    in: 'header',
    required,
    description,
    schema,
    ...(example === undefined ? {} : { example }),
  }
}
