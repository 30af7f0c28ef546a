import { type HeaderDefinition, headers } from '../contract/headers.ts'
import { observedErrors } from '../contract/observed-errors.ts'
import { isSealable } from '../contract/policies.ts'

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
  rule: Rule
}

const ofStreams: Rule = ({ reply }) => (reply === 'stream' || reply === 'raw' ? 'optional' : 'none')
const ofChannel: Rule = (operation, chain, isSealed) => (isSealed && isSealable(operation, chain) ? 'optional' : 'none')
const ofWorkspace: Rule = ({ policy }, { perimeter }) =>
  policy.workspace === 'required' && perimeter !== 'portal' ? 'optional' : policy.workspace

/**
 * The headers that are parameters. Those of every request are optional, because a client sets them once and not per call.
 * The gateway still requires them. Security schemes describe the access code and the client hash. The headers of the edge are
 * not the client's.
 */
export const headerTable: Record<string, HeaderRow> = {
  RequestId: {
    ...declared(headers.requestId),
    description:
      'Unique request id, repeated in the response. Send a new one with each request: it is the idempotency key of a ' +
      'command without `Idempotency-Key`. A portal rejects requests without it, and machines need it for such commands.',
    example: '8f0c3a52-6f2d-4b55-9a5c-0d4b8f6f6c11',
    rule: always,
  },
  // Without an example, which pages and generated code would send with every command.
  IdempotencyKey: {
    ...declared(headers.idempotencyKey),
    description:
      'Idempotency key, with or without quotes, repeated in the response. Within 24 hours, the same key with the same body ' +
      'returns the first response, and with another body it is rejected.',
    rule: ({ policy }) => (policy.idempotent ? 'optional' : 'none'),
  },
  Locale: {
    ...declared(headers.locale),
    description: `Language of labels and messages: ${locales.join(', ')}; any other value means en. Requests without it are rejected.`,
    example: 'en',
    rule: (_, { perimeter }) => (perimeter === 'portal' ? 'optional' : 'none'),
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

function always(): Presence {
  return 'optional'
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
