import type { z } from 'zod'
import type { Code } from './codes.ts'
import type { Policy } from './policy.ts'

export type Method = 'GET' | 'POST'

/** What an operation takes as its body: a JSON schema, no body at all, or a streamed multipart form. */
export type BodyKind = z.ZodType | 'none' | 'multipart'

/** What an operation answers: the schema of `data`, or bytes. */
export type ReplyKind = z.ZodType | 'stream'

/** An operation, declared once as data. Routes, stages, handler types, OpenAPI, client and tests derive from it. */
export interface Operation {
  /** `<domain>.<name>`; the domain decides which back-end serves it. */
  id: string
  method: Method
  /** Below the chain's prefix; `{name}` are path parameters. */
  path: string
  chains: readonly [ChainId, ...ChainId[]]
  summary: string
  policy: Policy
  /** Schemas of the path parameters that are not ids. Every other path parameter is an id (a UUID). */
  params?: Readonly<Record<string, z.ZodType<string>>>
  /**
   * Code for a path parameter that does not match its schema. Default: RESOURCE.NOT_FOUND if `refuses` lists it,
   * otherwise VALIDATION.INVALID_PARAMETER.
   */
  malformedParam?: Code
  /** A strict object; an operation without query parameters takes none. */
  query?: z.ZodType
  body: BodyKind
  /** What a body is refused with that is no JSON: VALIDATION.INVALID_PARAMETER where nothing else is said. */
  malformedBody?: Code
  reply: ReplyKind
  /** What the operation itself refuses, beyond what its policy implies. */
  refuses: readonly Code[]
}

type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

/** An operation as its handler sees it. */
export interface OperationTypes<O extends Operation> {
  params: Record<ParamNames<O['path']>, string>
  query: O['query'] extends z.ZodType ? z.output<O['query']> : Record<string, never>
  body: O['body'] extends z.ZodType ? z.output<O['body']> : null
  reply: O['reply'] extends z.ZodType ? z.input<O['reply']> : never
}

/** Keeps the literal types of a declaration. */
export const operation = <const O extends Operation>(declared: O): O => declared

export const domainOf = (id: string): string => id.slice(0, id.indexOf('.'))

/** The names inside a path's braces, in their order. */
export const pathParamNames = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')

/**
 * The ways in. A chain is a path prefix with its perimeter: which portal it belongs to, whether the portal
 * and edge headers of section 4.1 are demanded, and the envelope version that it speaks (section 9).
 */
export const portals = ['CONSUMER', 'SYSTEM'] as const
export type Portal = (typeof portals)[number]

export interface Chain {
  prefix: string
  /** `code`: whichever portal the access code names; `token`: whichever portal the token names. */
  portal: Portal | 'code' | 'token'
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

/** The portal that a chain belongs to; null where the access code or the token decides. */
export const portalOfChain = ({ portal }: Chain): Portal | null =>
  portal === 'code' || portal === 'token' ? null : portal

const isChainId = (text: string): text is ChainId => Object.hasOwn(chains, text)

/** The longest prefix first: one may stand below another. */
const byPrefix = Object.keys(chains)
  .filter(isChainId)
  .sort((a, b) => chains[b].prefix.length - chains[a].prefix.length)

/** The chain that a path stands below, whether or not there is anything; the CONSUMER portal's where it is none's. */
export const findChain = (path: string): ChainId =>
  byPrefix.find((id) => `${path}/`.startsWith(`${chains[id].prefix}/`)) ?? 'consumer'
