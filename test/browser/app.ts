import { createClient, PorticoError } from '../../src/client/index.ts'

Object.assign(globalThis, { portico: { createClient, PorticoError } })

declare global {
  var portico: { createClient: typeof createClient; PorticoError: typeof PorticoError }
}
