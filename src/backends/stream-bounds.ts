import type { UpstreamConfiguration } from '../config/index.ts'

const defaults = { streamTimeoutMs: 300_000, maxStreamBytes: 1_073_741_824 }

/** How long a stream to or from an upstream may take, and how much it may hold. */
export const streamBounds = ({ streamTimeoutMs, maxStreamBytes }: UpstreamConfiguration): typeof defaults => ({
  streamTimeoutMs: streamTimeoutMs ?? defaults.streamTimeoutMs,
  maxStreamBytes: maxStreamBytes ?? defaults.maxStreamBytes,
})
