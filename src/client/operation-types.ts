import type { z } from 'zod'
import type { resources } from '../contract/index.ts'
import type { ChainId, Operation, OperationTypes, Portal } from '../kernel/index.ts'
import type { portalChains } from './routes.ts'

/** Number of sent bytes of an upload. `total` is 0 if it is unknown. */
export interface Progress {
  loaded: number
  total: number
}

/** Options of every call. */
export interface CallOptions {
  /** The X-Workspace-Id header. By default, the account's default workspace, if the operation allows that. */
  workspaceId?: string
  /** The X-Request-Id header, the idempotency key of a money command. By default a new UUID. */
  requestId?: string
  /** Whether body and reply use the secure channel. By default the client's `seal` rule decides. */
  seal?: boolean
  signal?: AbortSignal
  /** Additional headers, such as Range. They override the client's own, except those of the secure channel. */
  headers?: Record<string, string>
}

/** A query parameter is text on the wire; the client also accepts numbers. */
type QueryValue<V> = string extends V ? V | number : V
type Query<T> = { [K in keyof T]: QueryValue<T[K]> }

type ParamsPart<O extends Operation> = [keyof OperationTypes<O>['params']] extends [never]
  ? unknown
  : { params: OperationTypes<O>['params'] }
type QueryPart<O extends Operation> = O['query'] extends z.ZodType ? { query?: Query<z.input<O['query']>> } : unknown
type BodyPart<O extends Operation> = O['body'] extends z.ZodType
  ? undefined extends z.input<O['body']>
    ? { body?: z.input<O['body']> }
    : { body: z.input<O['body']> }
  : O['body'] extends 'multipart'
    ? {
        body: FormData
        /** Called in browsers only, and not if a service worker forwards the page's requests. */
        onProgress?: (progress: Progress) => void
      }
    : unknown

/** The arguments of an operation: its parameters, query and body, and the options. */
export type Args<O extends Operation> = CallOptions & ParamsPart<O> & QueryPart<O> & BodyPart<O>

/** The data of a reply. For a stream, the response with its unread body. */
export type Result<O extends Operation> = O['reply'] extends z.ZodType ? z.output<O['reply']> : Response

type Method<O extends Operation> =
  Partial<Args<O>> extends Args<O> ? (args?: Args<O>) => Promise<Result<O>> : (args: Args<O>) => Promise<Result<O>>

export type Module = (typeof resources)[keyof typeof resources]
type Entry<M> = M extends unknown
  ? { [K in keyof M & string]: M[K] extends Operation ? [name: K, operation: M[K]] : never }[keyof M & string]
  : never

/** A method for each operation of these chains, by its export name. `M` are the contract modules. */
export type OperationsOf<C extends ChainId, M = Module> = {
  readonly [E in Entry<M> as [Extract<E[1]['chains'][number], C>] extends [never] ? never : E[0]]: Method<E[1]>
}

/** The methods of a portal's operations: Portico's own, and those of additional contract modules. */
export type Operations<P extends Portal, Added extends readonly object[] = []> = OperationsOf<
  (typeof portalChains)[P][number],
  Module | Added[number]
>

/** The arguments of any operation. */
export interface AnyArgs extends CallOptions {
  params?: Record<string, string>
  query?: object
  body?: unknown
  onProgress?: (progress: Progress) => void
}

/** A reply's data and the gateway's time in epoch milliseconds; null if the reply has none. */
export interface Answer<T> {
  data: T
  timestamp: number | null
}

/** Calls any operation of the client's portal, with channel, tokens and retries. */
export interface OperationCaller {
  answer<O extends Operation>(operation: O, args: Args<O>): Promise<Answer<Result<O>>>
}
