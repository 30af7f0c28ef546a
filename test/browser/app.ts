import { createClient, PorticoError } from '../../src/client/index.ts'

/** The exports that a script of a page would import. */
Object.assign(globalThis, { portico: { createClient, PorticoError } })

declare global {
  var portico: { createClient: typeof createClient; PorticoError: typeof PorticoError }
}
