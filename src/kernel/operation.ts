import type { z } from 'zod'
import type { Code } from './codes.ts'

/** Rate limit groups (`limits` in the configuration). Each operation counts towards one of them. */
export const rateGroups = [
  'login',
  'mfaSend',
  'forgot',
  'password',
  'registration',
  'channelOpen',
  'refresh',
  'money',
  'export',
  'general',
] as const
export type RateGroup = (typeof rateGroups)[number]

/** A permission code `group:action`. */
export type Permission = `${string}:${string}`

/** How the pipeline treats an operation. No key is optional, so that forgetting one is a type error. */
export interface Policy {
  /** `anonymous`: tokens are ignored. `account`: a live session, or an API key on the api chain. */
  caller: 'anonymous' | 'account'
  /** The X-Workspace-Id header. It is ignored, or by default the account's workspace, or required. */
  workspace: 'none' | 'optional' | 'required'
  /** The permission that the caller needs; null if authentication is enough. */
  permission: Permission | null
  /** Requires a second factor verified within the last `mfa.stepUpMs`. */
  stepUp: boolean
  /** Whether the secure channel can carry the body. A portal's configuration can require it. */
  channel: 'none' | 'optional'
  rate: RateGroup
  /** Whether X-Request-Id is the idempotency key. */
  idempotent: boolean
  /**
   * Whether the operation can change permissions or the default workspace. The response is sent once every replica has
   * dropped its cached access (docs/decisions/0008).
   */
  changesRights: boolean
}

export type Method = 'GET' | 'POST'

/** The request body: a JSON schema, no body, or a streamed multipart form. */
export type BodyKind = z.ZodType | 'none' | 'multipart'

/** The reply: the schema of the envelope's `data`, or bytes. */
export type ReplyKind = z.ZodType | 'stream'

/** An operation declared as data. Routes, pipeline stages, handler types, OpenAPI, client and tests derive from it. */
export interface Operation {
  /** `<domain>.<name>`; the domain determines the backend. */
  id: string
  method: Method
  /** Path below the chain's prefix, with `{name}` for parameters. */
  path: string
  chains: readonly [ChainId, ...ChainId[]]
  summary: string
  policy: Policy
  /** Schemas of the path parameters that are not ids (UUIDs). */
  params?: Readonly<Record<string, z.ZodType<string>>>
  /**
   * Code for a path parameter that does not match its schema. Default: RESOURCE.NOT_FOUND if `refuses` lists it,
   * otherwise VALIDATION.INVALID_PARAMETER.
   */
  malformedParam?: Code
  /** A strict object. Without a schema, the operation rejects query parameters. */
  query?: z.ZodType
  body: BodyKind
  /** Code for a body that is not valid JSON. Default: VALIDATION.INVALID_PARAMETER. */
  malformedBody?: Code
  reply: ReplyKind
  /** The operation's own refusal codes, in addition to those that its policy implies. */
  refuses: readonly Code[]
}

type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

/** The types of an operation as its handler sees them. */
export interface OperationTypes<O extends Operation> {
  params: Record<ParamNames<O['path']>, string>
  query: O['query'] extends z.ZodType ? z.output<O['query']> : Record<string, never>
  body: O['body'] extends z.ZodType ? z.output<O['body']> : null
  reply: O['reply'] extends z.ZodType ? z.input<O['reply']> : never
}

/** Declares an operation and keeps its literal types. */
export const operation = <const O extends Operation>(declared: O): O => declared

/** Returns the domain of an operation id: `transfers` for `transfers.create`. */
export const domainOf = (id: string): string => id.slice(0, id.indexOf('.'))

/** Returns the names of a path's parameters in order. */
export const pathParamNames = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')

export const portals = ['CONSUMER', 'SYSTEM'] as const
export type Portal = (typeof portals)[number]

/** A path prefix with its perimeter: its portal, the headers that it requires, and its envelope version. */
export interface Chain {
  prefix: string
  /** `code`: the portal of the access code. `token`: the portal of the token. */
  portal: Portal | 'code' | 'token'
  /** `portal` requires an access code and the edge headers, `self` a token, `machine` an API key or a token. */
  perimeter: 'portal' | 'self' | 'machine'
  envelope: string
}

export const chains = {
  consumer: { prefix: '/web/v1/consumer', portal: 'CONSUMER', perimeter: 'portal', envelope: '2.0.0' },
  system: { prefix: '/web/v1/system', portal: 'SYSTEM', perimeter: 'portal', envelope: '2.0.0' },
  shared: { prefix: '/web/v1', portal: 'code', perimeter: 'portal', envelope: '2.0.0' },
  self: { prefix: '/web/v1/users/self', portal: 'token', perimeter: 'self', envelope: '1.3.0' },
  api: { prefix: '/api/v1/consumer', portal: 'CONSUMER', perimeter: 'machine', envelope: '2.0.0' },
} as const satisfies Record<string, Chain>

export type ChainId = keyof typeof chains

/** Returns the portal of a chain, or null if the access code or the token determines it. */
export const portalOfChain = ({ portal }: Chain): Portal | null =>
  portal === 'code' || portal === 'token' ? null : portal

const isChainId = (text: string): text is ChainId => Object.hasOwn(chains, text)

export const chainIds: readonly ChainId[] = Object.keys(chains).filter(isChainId)

/** The longest prefix comes first, because one prefix can contain another. */
const byPrefix = chainIds.toSorted((a, b) => chains[b].prefix.length - chains[a].prefix.length)

/** Returns the chain of a path, whether or not an operation exists there. Default: the CONSUMER portal's chain. */
export const findChain = (path: string): ChainId =>
  byPrefix.find((id) => `${path}/`.startsWith(`${chains[id].prefix}/`)) ?? 'consumer'
