import type { Progress } from '../contract-types.ts'

/** What goes over the wire. */
export interface WireRequest {
  method: string
  url: string
  headers: Record<string, string>
  body: string | FormData | null
  /** Ends all of it, reading the answer included. */
  signal: AbortSignal | null
  onProgress: ((progress: Progress) => void) | undefined
}

/** Sends a request; rejects only where no answer arrives. */
export type Transport = (request: WireRequest) => Promise<Response>
