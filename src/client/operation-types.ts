import type { z } from 'zod'
import type { ChainId, Operation, OperationTypes } from '../kernel/index.ts'

/** Progress of an upload in bytes. `total` is 0 if unknown. */
export interface Progress {
  loaded: number
  total: number
}

/** Options of every call. */
export interface CallOptions {
  /** The X-Workspace-Id header. Default: the account's default workspace, if the operation allows that. */
  workspaceId?: string
  /** The X-Request-Id header, and the Idempotency-Key of a command. Default: a new UUID. */
  requestId?: string
  /** Overrides the client's `seal` rule. */
  seal?: boolean
  signal?: AbortSignal
  /** Additional headers, such as Range, but none of the secure channel. */
  headers?: Record<string, string>
}

/** Options of a call that must name its workspace. */
export interface WorkspaceCallOptions extends CallOptions {
  /** The X-Workspace-Id header. */
  workspaceId: string
}

/** Replaces the brand of a coded value by the union of its codes (`coded` in contract/fields.ts). */
export type Plain<T> = T extends string & z.core.$brand<infer C extends string>
  ? C
  : T extends object
    ? { [K in keyof T]: Plain<T[K]> }
    : T

/** Numbers are text on the wire, but the client also accepts numbers. */
type Query<S extends z.ZodType, In = Plain<z.input<S>>, Out = z.output<S>> = {
  [K in keyof In]: K extends keyof Out ? (number extends Out[K] ? In[K] | number : In[K]) : In[K]
}

/** The chains of API keys. */
type MachineChain = 'api' | 'systemApi'

type ParamName<O extends Operation, N, C extends ChainId> = C extends MachineChain
  ? O['machineParams'] extends Readonly<Record<string, string>>
    ? N extends keyof O['machineParams']
      ? O['machineParams'][N]
      : N
    : N
  : N
type Params<O extends Operation, C extends ChainId> = {
  [N in keyof OperationTypes<O>['params'] as ParamName<O, N, C> & string]: string
}
type ParamsPart<O extends Operation, C extends ChainId> = [keyof OperationTypes<O>['params']] extends [never]
  ? unknown
  : { params: Params<O, C> }
/** An API key determines the workspace. */
type WorkspacePart<O extends Operation, C extends ChainId> = C extends MachineChain
  ? unknown
  : [O['policy']['workspace']] extends ['required']
    ? WorkspaceCallOptions
    : unknown
type QueryPart<O extends Operation> = O['query'] extends z.ZodType
  ? Partial<z.input<O['query']>> extends z.input<O['query']>
    ? { query?: Query<O['query']> }
    : { query: Query<O['query']> }
  : unknown
type BodyPart<O extends Operation> = O['body'] extends z.ZodType
  ? undefined extends z.input<O['body']>
    ? { body?: Plain<z.input<O['body']>> }
    : { body: Plain<z.input<O['body']>> }
  : O['body'] extends 'multipart'
    ? {
        body: FormData
        /** Called only in browsers, unless a service worker forwards the page's requests. */
        onProgress?: (progress: Progress) => void
      }
    : O['body'] extends 'raw'
      ? { body?: string | Blob | FormData }
      : unknown

/** The parameters, query, body and options of an operation. */
export type Args<O extends Operation, C extends ChainId = 'consumer'> = CallOptions &
  WorkspacePart<O, C> &
  ParamsPart<O, C> &
  QueryPart<O> &
  BodyPart<O>

/** The data of a reply. For streams, events and raw replies, the response with its unread body. */
export type Result<O extends Operation> = O['reply'] extends z.ZodType ? Plain<z.output<O['reply']>> : Response

type Method<O extends Operation, C extends ChainId> =
  Partial<Args<O, C>> extends Args<O, C>
    ? (args?: Args<O, C>) => Promise<Result<O>>
    : (args: Args<O, C>) => Promise<Result<O>>

type Entry<M> = M extends unknown
  ? { [K in keyof M & string]: M[K] extends Operation ? [name: K, operation: M[K]] : never }[keyof M & string]
  : never

type Served<E extends readonly [string, Operation], C extends ChainId> = [Extract<E[1]['chains'][number], C>] extends [
  never,
]
  ? never
  : E[1] extends { reply: 'socket' } | { protocol: 'scim' }
    ? never
    : E[0]

/** A method per operation of contract module `M` on these chains, except WebSockets and SCIM. */
export type OperationsOf<C extends ChainId, M> = {
  readonly [E in Entry<M> as Served<E, C>]: Method<E[1], C>
}

export interface AnyArgs extends CallOptions {
  params?: Record<string, string>
  query?: object
  body?: unknown
  onProgress?: (progress: Progress) => void
}

/** A reply's data and the gateway's time in epoch milliseconds, or null. */
export interface Answer<T> {
  data: T
  timestamp: number | null
  /** Whether the total of a list is an estimate. Totals up to 10,000 are exact. */
  isTotalEstimated: boolean
}

/** Calls any operation of the client's portal, or of its machine chain. */
export interface OperationCaller<C extends ChainId = 'consumer'> {
  answer<O extends Operation>(operation: O, args: Args<O, C>): Promise<Answer<Result<O>>>
}
