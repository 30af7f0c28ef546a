import type { Progress } from '../contract-types.ts'

/** What goes over the wire. */
export interface WireRequest {
  method: string
  url: string
  headers: Record<string, string>
  body: string | FormData | null
  signal: AbortSignal | undefined
  /** How long all of it may take, reading the answer included; null for no bound. */
  timeoutMs: number | null
  onProgress: ((progress: Progress) => void) | undefined
}

/** Sends a request; rejects only where no answer arrives. */
export type Transport = (request: WireRequest) => Promise<Response>
