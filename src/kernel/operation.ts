import type { z } from 'zod'
import { recordCallSite } from './call-site.ts'
import type { Code } from './codes.ts'
import { isRecord } from './json.ts'

/** The rate limit groups of Portico's own operations (`limits` in the configuration). Domains can declare further ones. */
export const rateGroups = [
  'login',
  'passkeyOptions',
  'mfaSend',
  'forgot',
  'password',
  'registration',
  'channelOpen',
  'refresh',
  'money',
  'export',
  'reveal',
  'general',
] as const

/** The name of a rate limit group: one of `rateGroups`, or one that a domain declares. */
export type RateGroup = (typeof rateGroups)[number] | (string & Record<never, never>)

/** A fixed-window limit. */
export interface RateRule {
  /** Maximum requests per window. Further requests get 429. */
  readonly limit: number
  /** Length of the window in milliseconds. */
  readonly windowMs: number
}

/** The limits of a group, by what is counted. */
export interface RateRules {
  /** Per client address. */
  readonly address?: RateRule | undefined
  /** Per account. Without it, the group uses the account limit of `general`. */
  readonly account?: RateRule | undefined
  /** Per IPv4 /24 or IPv6 /48 network. */
  readonly network?: RateRule | undefined
  /** Over all clients of a portal. */
  readonly total?: RateRule | undefined
}

/** Rate limit groups with their default limits, by name. */
export type RateGroups = Readonly<Record<string, RateRules>>

/** A permission code `group:action`. */
export type Permission = `${string}:${string}`

/** How the pipeline treats an operation. Every key is required, so that TypeScript reports a forgotten one. */
export interface Policy {
  /** `anonymous` ignores tokens. `account` requires a live session, or an API key on the api chain. */
  caller: 'anonymous' | 'account'
  /**
   * Use of the X-Workspace-Id header. `none` ignores it, `optional` defaults to the account's default workspace.
   */
  workspace: 'none' | 'optional' | 'required'
  /** The permission that the caller needs. Null requires none. */
  permission: Permission | null
  /** Requires a second factor verified within the last `mfa.stepUpMs`. With `maybe`, the handler decides. */
  stepUp: boolean | 'maybe'
  /** Whether the secure channel can carry the body. A portal's configuration may require it. */
  channel: 'none' | 'optional'
  /** The rate limit group. */
  rate: RateGroup
  /** Whether a command runs once per Idempotency-Key, or else per X-Request-Id. */
  idempotent: boolean
  /**
   * Whether the operation can change permissions or the default workspace. The response waits until every replica has
   * dropped its cached permissions (docs/decisions/0008).
   */
  changesRights: boolean
}

export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
/** Every method except GET is a command. The gateway never retries one. */
export type Method = (typeof methods)[number]

/** A JSON schema, no body, a streamed multipart form, or streamed bytes. */
export type BodyKind = z.ZodType | 'none' | 'multipart' | 'raw'

/** Server-sent events, a WebSocket, or the response of an HTTP service. */
export const passThroughReplies = ['events', 'socket', 'raw'] as const
export type PassThroughReply = (typeof passThroughReplies)[number]

/** The reply: the schema of the envelope's `data`, the bytes of a download, or a reply that is passed through. */
export type ReplyKind = z.ZodType | 'stream' | PassThroughReply

/** An operation as data. Routes, stages, handler types, OpenAPI, client and tests derive from it. */
export interface Operation {
  /** `<domain>.<name>`. The domain determines the backend. */
  id: string
  method: Method
  /** Path below the chain's prefix, with `{name}` for parameters. */
  path: string
  chains: readonly [ChainId, ...ChainId[]]
  /** Names of path parameters on the machine chain, by their name in `path`. The interface gives them other names there. */
  machineParams?: Readonly<Record<string, string>>
  summary: string
  /** More than the summary says, in Markdown. */
  description?: string
  /** Shown in the OpenAPI document. */
  examples?: {
    readonly params?: Readonly<Record<string, string>>
    readonly query?: Readonly<Record<string, string>>
    readonly body?: unknown
    readonly reply?: unknown
  }
  policy: Policy
  /** Schemas of the path parameters that are not UUIDs. */
  params?: Readonly<Record<string, z.ZodType<string>>>
  /**
   * Lets a member call the operation without entry to the workspace, because it is frozen or the membership is limited.
   * The request must name the workspace. The handler gets no permissions.
   */
  withoutEntry?: true
  /**
   * Describes the caller. The request does not count as activity of its session, and has a workspace only if it names
   * one. If the policy is anonymous, the caller is that of the browser's session cookie, or null.
   */
  describesCaller?: true
  /** Pages repeat the request without a user, so it does not count as activity of its session. */
  isPassive?: true
  /**
   * The reply sets the browser's session cookie, so only pages of allowed origins can call the operation. The caller is
   * that of the previous cookie, or null.
   */
  startsBrowserSession?: true
  /**
   * The protocol of RFC 7644 in place of the envelope: bodies can be `application/scim+json`, and the gateway sends replies
   * and refusals as this protocol has them. Only on the machine chain of operators.
   */
  protocol?: 'scim'
  /**
   * Whether the audit log also records requests that are refused for lack of a step-up or by a limit. It always records
   * commands that are refused for lack of a permission.
   */
  auditsRefusals?: true
  /**
   * The path parameters, query parameters and body fields that a step-up for this operation confirms. Secrets must not
   * be among them. Default: the path parameters.
   */
  confirms?: readonly string[]
  /** Returns the amount, role and payee for the mail of a step-up. Without it, the mail names the operation only. */
  purpose?(confirmed: ConfirmedTexts): Purpose
  /**
   * Code for an invalid path parameter. Default: RESOURCE.NOT_FOUND if `refuses` lists it, otherwise
   * VALIDATION.INVALID_PARAMETER.
   */
  malformedParam?: Code
  /** A strict object. Without a schema, the operation rejects query parameters. */
  query?: z.ZodType
  body: BodyKind
  /** Code for a body that is not valid JSON. Default: VALIDATION.INVALID_PARAMETER. */
  malformedBody?: Code
  reply: ReplyKind
  /** The operation's own codes, besides those that its policy implies. */
  refuses: readonly Code[]
  /** Set by the catalogue: the domains whose hooks can refuse the command, in order. `refuses` has their codes. */
  before?: readonly string[]
  /** Types of the events that the operation can cause, of any domain. */
  emits?: readonly string[]
}

/** The fields in `confirms` that are texts, such as ids and amounts, as validated. */
export type ConfirmedTexts = Readonly<Record<string, string | undefined>>

/**
 * The amount, role and payee that a step-up confirms. Portico reads names and masked accounts from the store, and writes the text. An object that
 * does not exist, or belongs to another workspace, gets RESOURCE.NOT_FOUND.
 */
export interface Purpose {
  /** An order of the ledger. Its own payee is shown, and its own amount unless `amount` is set. */
  readonly order?: string | undefined
  /** In the currency of `order` or `wallet`, or in `currency` without them. */
  readonly amount?: string | undefined
  readonly currency?: string | undefined
  /** A wallet of the workspace. */
  readonly wallet?: string | undefined
  /** A role of the workspace. */
  readonly role?: string | undefined
  /** Who gets the money or the power: the first of these that is set. */
  readonly payee?: {
    readonly withdrawalChannel?: string | undefined
    /** A wallet of any workspace. */
    readonly wallet?: string | undefined
    readonly account?: string | undefined
    readonly email?: string | undefined
  }
}

type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

export interface OperationTypes<O extends Operation> {
  params: Record<ParamNames<O['path']>, string>
  query: O['query'] extends z.ZodType ? z.output<O['query']> : Record<string, never>
  body: O['body'] extends z.ZodType ? z.output<O['body']> : null
  reply: O['reply'] extends z.ZodType ? z.input<O['reply']> : never
}

/**
 * Declares an operation with its literal types. Errors at start name the file and line of the call.
 * @__NO_SIDE_EFFECTS__
 */
export function operation<const O extends Operation>(declared: O): O {
  recordCallSite(declared)
  return declared
}

export function isPassThrough({ reply }: Pick<Operation, 'reply'>): boolean {
  return passThroughReplies.some((kind) => kind === reply)
}

/** Returns the domain of an operation id: `transfers` for `transfers.create`. */
export function domainOf(id: string): string {
  return id.slice(0, id.indexOf('.'))
}

export function pathParamNames(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
}

type Confirming = Pick<Operation, 'confirms' | 'path'>

export function confirmedNames({ confirms, path }: Confirming): readonly string[] {
  return confirms ?? pathParamNames(path)
}

/** Selects the confirmed fields from `values`, which the schemas have parsed. */
export function confirmedFields(operation: Confirming, ...values: readonly unknown[]): Record<string, unknown> {
  const all: Record<string, unknown> = Object.assign({}, ...values.filter(isRecord))
  return Object.fromEntries(confirmedNames(operation).map((name) => [name, all[name]]))
}

export function paramNameOn(
  { perimeter }: Chain,
  { machineParams = {} }: Pick<Operation, 'machineParams'>,
  name: string,
): string {
  return (perimeter === 'machine' ? machineParams[name] : undefined) ?? name
}

export function pathOn(chain: Chain, operation: Operation): string {
  return (
    chain.prefix +
    operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `{${paramNameOn(chain, operation, name)}}`)
  )
}

/** The portals of every deployment. The configuration can declare more. */
export const fixedPortals = ['CONSUMER', 'SYSTEM'] as const
export type FixedPortal = (typeof fixedPortals)[number]
/** The name of a portal of the deployment. */
export type Portal = FixedPortal | (string & Record<never, never>)

/** Whether people of the portal belong to workspaces. Operators, of SYSTEM, do not. */
export function hasWorkspaces(portal: Portal): boolean {
  return portal !== 'SYSTEM'
}

/** The perimeter determines the required headers. */
export interface Chain {
  prefix: string
  /** `code`: the access code determines the portal. `token`: the token determines the portal. */
  portal: Portal | 'code' | 'token'
  /**
   * `portal` requires an access code and the edge headers. `self` requires a token. `machine` requires an API key or, on
   * the CONSUMER portal, a token.
   */
  perimeter: 'portal' | 'self' | 'machine'
  envelope: string
}

export const chains = {
  consumer: { prefix: '/web/v1/consumer', portal: 'CONSUMER', perimeter: 'portal', envelope: '2.0.0' },
  system: { prefix: '/web/v1/system', portal: 'SYSTEM', perimeter: 'portal', envelope: '2.0.0' },
  shared: { prefix: '/web/v1', portal: 'code', perimeter: 'portal', envelope: '2.0.0' },
  self: { prefix: '/web/v1/users/self', portal: 'token', perimeter: 'self', envelope: '1.3.0' },
  api: { prefix: '/api/v1/consumer', portal: 'CONSUMER', perimeter: 'machine', envelope: '2.0.0' },
  systemApi: { prefix: '/api/v1/system', portal: 'SYSTEM', perimeter: 'machine', envelope: '2.0.0' },
} as const satisfies Record<string, Chain>

export type ChainId = keyof typeof chains

/** Whether only API keys authenticate. An operator's token must not work without the perimeter of the portal. */
export function needsApiKey({ perimeter, portal }: Chain): boolean {
  return perimeter === 'machine' && portal === 'SYSTEM'
}

export function portalOfChain({ portal }: Pick<Chain, 'portal'>): Portal | null {
  return portal === 'code' || portal === 'token' ? null : portal
}

/** Whether people of a portal use a chain. Those of an additional portal use the chains of CONSUMER. */
export function isChainOf({ portal: owner }: Pick<Chain, 'portal'>, portal: Portal): boolean {
  return owner === 'code' || owner === 'token' || owner === portal || (owner === 'CONSUMER' && hasWorkspaces(portal))
}

export const chainIds: readonly ChainId[] = /* @__PURE__ */ Object.keys(chains).filter(isChainId)

/** A portal that the configuration declares. It has the chains of CONSUMER below its own segment, such as `merchant`. */
export interface PortalMount {
  portal: Portal
  /** `/web/v1/<prefix>` and `/api/v1/<prefix>`. */
  prefix: string
}

/** Returns a chain as a portal has it: those of CONSUMER under the prefix of the portal, and all others unchanged. */
export function mountChain(chain: Chain, mount: PortalMount | null): Chain {
  if (mount === null || chain.portal !== 'CONSUMER') return chain
  const prefix = chain.prefix.replace(/[^/]+$/, mount.prefix)
  return { ...chain, prefix, portal: mount.portal }
}

/** A chain of a deployment. `chainId` names the operations that it serves. */
export interface ServedChain {
  chainId: ChainId
  chain: Chain
}

export type FindChain = (path: string) => ServedChain

/** Returns all chains of a deployment: `chains`, and those of additional portals. */
export function chainsWith(mounts: readonly PortalMount[]): ServedChain[] {
  const onMounts = mounts.flatMap((mount) =>
    chainIds.map((chainId) => ({ chainId, chain: mountChain(chains[chainId], mount) })),
  )
  return [
    ...chainIds.map((chainId) => ({ chainId, chain: chains[chainId] })),
    ...onMounts.filter(({ chainId, chain }) => chain.prefix !== chains[chainId].prefix),
  ]
}

/** Returns the chain with the longest prefix of a path. Default: `consumer`. */
export function createChainFinder(mounts: readonly PortalMount[]): FindChain {
  const byPrefix = chainsWith(mounts).toSorted((a, b) => b.chain.prefix.length - a.chain.prefix.length)
  const fallback: ServedChain = { chainId: 'consumer', chain: chains.consumer }
  return (path) => byPrefix.find(({ chain }) => `${path}/`.startsWith(`${chain.prefix}/`)) ?? fallback
}

function isChainId(text: string): text is ChainId {
  return Object.hasOwn(chains, text)
}
