import type { Operation, PassThroughReply, Policy } from '../../kernel/index.ts'
import type { PorticoError } from '../errors.ts'
import type { Progress } from '../operation-types.ts'
import type { RetryRule } from '../options.ts'

/** Code that only some operations need. In the entries of the portals, only their constants refer to it. */
export interface OperationParts {
  /** Sends a request with `onProgress`. */
  readonly upload?: ((request: WireRequest, credentials: RequestCredentials) => Promise<Response>) | undefined
  /** Repeats a command, or a token renewal. */
  readonly retry?: Retry | undefined
}

/** The part of an operation that the client reads. Operations of the entries of the portals have nothing else. */
export interface CallableOperation
  extends OperationParts,
    Pick<Operation, 'id' | 'method' | 'path' | 'chains' | 'machineParams' | 'confirms'> {
  readonly policy: Pick<Policy, 'caller' | 'workspace' | 'stepUp' | 'channel' | 'rate' | 'idempotent'>
  /** `none`, `multipart`, `raw`, or anything else for JSON. */
  readonly body: unknown
  readonly reply: ReplyCheck | 'stream' | PassThroughReply
}

/** A schema of zod or zod/mini. */
export interface ReplyCheck {
  safeParse(data: unknown): { success: true; data: unknown } | { success: false; error: unknown }
}

export interface WireRequest {
  method: string
  url: string
  headers: Record<string, string>
  body: string | Blob | FormData | null
  /** Aborts the request and the reading of its response. */
  signal: AbortSignal | null
  onProgress: ((progress: Progress) => void) | undefined
  upload: OperationParts['upload']
}

/** Throws the last failure, or what `assertRepeatable` throws before another attempt. */
export type Retry = <T>(
  rule: RetryRule,
  signal: AbortSignal | undefined,
  task: () => Promise<T>,
  assertRepeatable?: (error: PorticoError) => void,
) => Promise<T>
